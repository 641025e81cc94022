// Package informer keeps a cache of Deployments: list, watch from there, list again when history is gone.
package informer

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// --8<-- [start:run]

// Run starts an informer whose handlers enqueue keys, and returns a reader of its cache once that is complete.
func Run(
	ctx context.Context, clientset kubernetes.Interface, queue workqueue.TypedInterface[string],
) (appslisters.DeploymentLister, error) {
	factory := informers.NewSharedInformerFactory(clientset, 10*time.Hour) // the resync: from the cache, no request
	deployments := factory.Apps().V1().Deployments()

	enqueue := func(object any) {
		// A deletion that was missed comes as a tombstone; this function knows how to read its key.
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	_, err := deployments.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, changed any) { enqueue(changed) },
		DeleteFunc: enqueue,
	})
	if err != nil {
		return nil, err
	}

	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), deployments.Informer().HasSynced) {
		return nil, fmt.Errorf("the cache of Deployments has not synced: %w", context.Cause(ctx))
	}
	return deployments.Lister(), nil
}

// --8<-- [end:run]

// --8<-- [start:read]

// Scaled returns a changed copy. What a lister hands out is the cache itself, shared by every reader.
func Scaled(lister appslisters.DeploymentLister, namespace, name string, replicas int32) (*appsv1.Deployment, error) {
	cached, err := lister.Deployments(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	ours := cached.DeepCopy()
	ours.Spec.Replicas = &replicas
	return ours, nil
}

// --8<-- [end:read]

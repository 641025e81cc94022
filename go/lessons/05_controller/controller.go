// Package controller puts informer, queue and reconciler together by hand, as controller-runtime does inside.
package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Controller calls a reconciler for each key that its informers put in its queue.
type Controller struct {
	Queue     workqueue.TypedRateLimitingInterface[reconcile.Request]
	Reconcile reconcile.Func
	Synced    []cache.InformerSynced
}

// --8<-- [start:run]

// Run waits for the caches, then works until ctx ends, then lets the work in flight finish.
func (c *Controller) Run(ctx context.Context, workers int) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.Synced...) {
		return fmt.Errorf("caches have not synced: %w", context.Cause(ctx))
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			// Nothing new after the end of ctx, and the pass in hand isn't cut short.
			for ctx.Err() == nil && c.processNextItem(context.WithoutCancel(ctx)) {
			}
		})
	}
	<-ctx.Done()
	c.Queue.ShutDown() // wakes the workers that wait in Get
	running.Wait()
	return nil
}

// --8<-- [end:run]

// --8<-- [start:process]

// processNextItem handles one key. It returns false when the queue has been shut down.
func (c *Controller) processNextItem(ctx context.Context) bool {
	request, shutdown := c.Queue.Get()
	if shutdown {
		return false
	}
	defer c.Queue.Done(request) // always: a key that is not given back never runs again

	result, err := c.Reconcile(ctx, request)
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)):
		klog.FromContext(ctx).Error(err, "failed for good", "request", request)
		c.Queue.Forget(request)
	case err != nil:
		klog.FromContext(ctx).Error(err, "failed, will be tried again", "request", request)
		c.Queue.AddRateLimited(request)
	case result.RequeueAfter > 0:
		c.Queue.Forget(request) // waiting is not failing
		c.Queue.AddAfter(request, result.RequeueAfter)
	default:
		c.Queue.Forget(request)
	}
	return true
}

// --8<-- [end:process]

// --8<-- [start:owner]

// EnqueueOwner maps a child to the WebApp that controls it: the event is the child's, the key is the owner's.
func (c *Controller) EnqueueOwner(child metav1.Object) {
	owner := metav1.GetControllerOf(child)
	if owner == nil || owner.Kind != "WebApp" || owner.APIVersion != "converge.example/v1" {
		return
	}
	request := reconcile.Request{}
	request.Namespace, request.Name = child.GetNamespace(), owner.Name
	c.Queue.Add(request)
}

// --8<-- [end:owner]

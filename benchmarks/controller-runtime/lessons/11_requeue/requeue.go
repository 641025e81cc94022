// Package requeue shows the four answers of a reconciler.
package requeue

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/controller-runtime/api/v1"
)

// Registry is the service outside the cluster.
type Registry interface {
	Register(ctx context.Context, host string) error
}

// Reconciler waits for a Secret and registers a host name.
type Reconciler struct {
	client.Client
	Registry Registry
}

// --8<-- [start:answers]

// Reconcile gives one of four answers, never two of them at once.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Spec.DependsOnSecret}, secret)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: 30 * time.Second}, nil // waiting is not failing: look again, at an even pace
	}
	if err != nil {
		return ctrl.Result{}, err // failed: again after 5 ms, 10 ms, 20 ms, …
	}

	host, ok := secret.Data["host"]
	if !ok {
		// Failed for good: only a change can help, and a change brings the WebApp back by itself.
		return ctrl.Result{}, reconcile.TerminalError(fmt.Errorf("Secret %s has no key host", secret.Name))
	}
	if err := r.Registry.Register(ctx, string(host)); err != nil {
		return ctrl.Result{}, fmt.Errorf("registering %s: %w", host, err)
	}
	return ctrl.Result{}, nil // done, and forgotten: the next failure starts from 5 ms
}

// --8<-- [end:answers]

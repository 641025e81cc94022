// Package finalizers cleans up outside the cluster before a WebApp goes.
package finalizers

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "converge.example/controller-runtime/api/v1"
)

const finalizer = "converge.example/record"

// Registry is the service outside the cluster. Both calls may be repeated.
type Registry interface {
	Register(ctx context.Context, host string) error
	Unregister(ctx context.Context, host string) error
}

// Reconciler keeps a record at the Registry for as long as the WebApp exists.
type Reconciler struct {
	client.Client
	Registry Registry
}

// --8<-- [start:reconcile]

// Reconcile makes the promise before the record, and breaks it after the record is gone.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.cleanUp(ctx, app)
	}
	before := app.DeepCopy()
	if controllerutil.AddFinalizer(app, finalizer) { // false when it is there: no write
		if err := r.Patch(ctx, app, lockedPatch(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.Registry.Register(ctx, app.Spec.Register)
}

func (r *Reconciler) cleanUp(ctx context.Context, app *v1.WebApp) error {
	if !controllerutil.ContainsFinalizer(app, finalizer) {
		return nil // ours is done; others may still be at work
	}
	if err := r.Registry.Unregister(ctx, app.Spec.Register); err != nil {
		return err // the WebApp stays until this works
	}
	before := app.DeepCopy()
	controllerutil.RemoveFinalizer(app, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, app, lockedPatch(before)))
}

// A merge patch replaces the whole list of finalizers, so it carries the version on which the list was read.
func lockedPatch(before *v1.WebApp) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// --8<-- [end:reconcile]

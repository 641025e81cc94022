// Package finalizers cleans up outside the cluster before a WebApp goes.
package finalizers

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/go/api/v1"
	"converge.example/go/records"
)

const finalizer = "converge.example/record"

// Reconciler keeps a record at the outside service for as long as the WebApp asks for it, and removes it before the
// WebApp goes. Children is the reconciler of lesson 09, which serves the children and reports.
type Reconciler struct {
	client.Client
	Children reconcile.Reconciler
	Records  *records.Client
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
	if app.Spec.Register != "" && controllerutil.AddFinalizer(app, finalizer) { // false when it's there: no write
		if err := r.Patch(ctx, app, lockedPatch(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	answer, err := r.Children.Reconcile(ctx, request)
	if controllerutil.ContainsFinalizer(app, finalizer) {
		err = errors.Join(err, r.keepRecord(ctx, app, app.Spec.Register))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return answer, nil
}

func (r *Reconciler) cleanUp(ctx context.Context, app *v1.WebApp) error {
	if !controllerutil.ContainsFinalizer(app, finalizer) {
		return nil // ours is done; others may still be at work
	}
	if err := r.keepRecord(ctx, app, ""); err != nil {
		return err // the WebApp stays until this works
	}
	before := app.DeepCopy()
	controllerutil.RemoveFinalizer(app, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, app, lockedPatch(before)))
}

// A merge patch replaces the whole list of finalizers, so it carries the version that the list was read with.
func lockedPatch(before *v1.WebApp) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// --8<-- [end:reconcile]

// --8<-- [start:records]

// keepRecord makes the record of a host, if there is one, and removes every other record of app. It asks the service
// which ones those are: the spec may have forgotten them.
func (r *Reconciler) keepRecord(ctx context.Context, app *v1.WebApp, host string) error {
	there, err := r.Records.All(ctx)
	if err != nil {
		return err
	}
	for other, holder := range there {
		if holder == app.UID && other != host {
			err = errors.Join(err, r.Records.Delete(ctx, other))
		}
	}
	if holder, taken := there[host]; err != nil || host == "" || holder == app.UID {
		return err
	} else if taken {
		return fmt.Errorf("the host %s is taken", host) // so that we try again, less and less often
	}
	return r.Records.Put(ctx, host, app.UID)
}

// --8<-- [end:records]

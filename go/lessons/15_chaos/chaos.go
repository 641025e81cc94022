// Package chaos is a reconcile that old reads, lost events and other writers can do no harm.
package chaos

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/go/api/v1"
	owner "converge.example/go/lessons/08_owner_references"
	status "converge.example/go/lessons/09_status"
)

// Reconciler keeps the Deployment, the Service and the status of each WebApp.
type Reconciler struct{ client.Client }

// --8<-- [start:reconcile]

// Reconcile reads from a cache that may be old. So it deletes nothing, remembers nothing, and says with each report which
// version it has read.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // gone, or too new for our cache: the owner references know
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	// Each child by itself. The server removes what we used to ask for and no longer do, even if we were down.
	deployment, err := owner.EnsureOwned(ctx, r.Client, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	// A merge patch replaces the list of conditions as a whole, so Report sends the version that it was read with
	// (MergeFromWithOptimisticLock). If that is old, the server answers 409, and the next pass reads again.
	before := app.DeepCopy()
	status.Assess(app, deployment)
	return ctrl.Result{}, status.Report(ctx, r.Client, before, app)
}

// --8<-- [end:reconcile]

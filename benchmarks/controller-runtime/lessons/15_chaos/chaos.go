// Package chaos is a reconcile that old reads, lost events and other writers can do no harm.
package chaos

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "converge.example/controller-runtime/api/v1"
	"converge.example/controller-runtime/children"
)

// Reconciler keeps the Deployment of each WebApp, and reports.
type Reconciler struct{ client.Client }

// --8<-- [start:reconcile]

// Reconcile reads from a cache that may be old. So it deletes nothing, and says with each write what it has read.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // gone, or too new for our cache: the owner references know
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		wanted := children.Deployment(app)
		deployment.Labels, deployment.Spec.Replicas = wanted.Labels, wanted.Spec.Replicas
		if deployment.CreationTimestamp.IsZero() {
			deployment.Spec = wanted.Spec
		}
		return ctrl.SetControllerReference(app, deployment, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err // a 409 too: the next pass reads again
	}

	before := app.DeepCopy()
	available := metav1.Condition{Type: v1.Available, Status: metav1.ConditionFalse, Reason: "RollingOut"}
	if children.RolledOut(deployment) {
		available.Status, available.Reason = metav1.ConditionTrue, "RolledOut"
	}
	if !meta.SetStatusCondition(&app.Status.Conditions, available) {
		return ctrl.Result{}, nil
	}
	// A merge patch replaces the list of conditions as a whole. Without the lock, that of an old copy.
	locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return ctrl.Result{}, r.Status().Patch(ctx, app, locked)
}

// --8<-- [end:reconcile]

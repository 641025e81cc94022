// Package loop is one pass of reconciliation: fetch, observe, act, report.
package loop

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/controller-runtime/api/v1"
	"converge.example/controller-runtime/children"
)

// Reconciler brings one WebApp nearer to its spec each time it is called.
type Reconciler struct {
	client.Client
}

// --8<-- [start:reconcile]

// Reconcile is one pass: what should be, what is, make them agree, say what was seen.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	// Fetch. A WebApp that is gone needs nothing: that is success.
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	// Observe the world, not the status of an earlier pass.
	wanted, found := children.Deployment(app), &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(wanted), found)

	// Act only on a difference.
	container := &wanted.Spec.Template.Spec.Containers[0]
	switch {
	case apierrors.IsNotFound(err):
		if err := r.Create(ctx, wanted); err != nil {
			return ctrl.Result{}, err
		}
		found = wanted
	case err != nil:
		return ctrl.Result{}, err
	case *found.Spec.Replicas != *wanted.Spec.Replicas || found.Spec.Template.Spec.Containers[0].Image != container.Image:
		found.Spec.Replicas = wanted.Spec.Replicas
		found.Spec.Template.Spec.Containers[0].Image = container.Image
		if err := r.Update(ctx, found); err != nil {
			return ctrl.Result{}, err
		}
	}

	// Report what was observed, and only when it is news.
	status := app.Status
	status.ObservedGeneration = app.Generation
	status.AvailableReplicas = found.Status.AvailableReplicas
	if equality.Semantic.DeepEqual(status, app.Status) {
		return ctrl.Result{}, nil
	}
	app.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, app)
}

// --8<-- [end:reconcile]

// Package loop is one pass of reconciliation: fetch, observe, act, report.
package loop

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/go/api/v1"
	"converge.example/go/children"
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

	// Observe the actual state, not the status of an earlier pass. Only NotFound says that it is missing.
	deployment := &appsv1.Deployment{}
	err := r.Get(ctx, request.NamespacedName, deployment)

	// Act only on a difference.
	if apierrors.IsNotFound(err) {
		deployment = children.Deployment(app)
		err = r.Create(ctx, deployment)
	} else if err == nil {
		before := deployment.DeepCopy()
		deployment.Spec.Replicas = app.Spec.Replicas
		children.Container(&deployment.Spec.Template.Spec, "web").Image = app.Spec.Image // by name, wherever it is
		if !equality.Semantic.DeepEqual(before, deployment) {
			err = r.Patch(ctx, deployment, client.StrategicMergeFrom(before)) // only what we changed: the rest stays
		}
	}
	if err != nil {
		return ctrl.Result{}, err
	}

	// Report what was observed, and only when it is news.
	status := app.Status
	status.ObservedGeneration = app.Generation
	status.AvailableReplicas = deployment.Status.AvailableReplicas
	if equality.Semantic.DeepEqual(status, app.Status) {
		return ctrl.Result{}, nil
	}
	app.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, app)
}

// --8<-- [end:reconcile]

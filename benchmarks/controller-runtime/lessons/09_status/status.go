// Package status reports what was seen, of which generation, and only when it is news.
package status

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/controller-runtime/api/v1"
	"converge.example/controller-runtime/children"
)

// --8<-- [start:report]

// Report writes the status of app as its Deployment shows it.
func Report(ctx context.Context, c client.Client, app *v1.WebApp, deployment *appsv1.Deployment) error {
	before := app.DeepCopy()
	app.Status.ObservedGeneration = app.Generation // the generation that this pass has read, never a newer one
	app.Status.AvailableReplicas = deployment.Status.AvailableReplicas

	available := metav1.Condition{
		Type: v1.Available, Status: metav1.ConditionFalse, Reason: "RollingOut",
		Message: "the Deployment has not finished its rollout", ObservedGeneration: app.Generation,
	}
	if children.RolledOut(deployment) {
		available.Status, available.Reason, available.Message = metav1.ConditionTrue, "RolledOut", "all replicas are available"
	}
	// Changes lastTransitionTime only when the status of the condition changes, and leaves other types alone.
	meta.SetStatusCondition(&app.Status.Conditions, available)

	if equality.Semantic.DeepEqual(before.Status, app.Status) {
		return nil // a write that says nothing new would wake us again
	}
	return c.Status().Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// --8<-- [end:report]

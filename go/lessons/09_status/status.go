// Package status reports what was seen, of which generation, and only when it is news.
package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/go/api/v1"
	"converge.example/go/children"
	owner "converge.example/go/lessons/08_owner_references"
)

// Reconciler keeps the children of each WebApp, and reports how they are.
type Reconciler struct {
	client.Client
	Events events.EventRecorder
}

// Reconcile acts on the spec, then reports the actual state.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := app.DeepCopy()
	deployment, err := owner.EnsureOwned(ctx, r.Client, app)
	if taken := (owner.NameTaken)(""); errors.As(err, &taken) {
		Blocked(app, "NameTaken", taken.Error())
		if err := r.tell(ctx, before, app); err != nil {
			return ctrl.Result{}, err // one answer, not two: next to an error a delay is ignored
		}
		return ctrl.Result{RequeueAfter: 30 * time.Second}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	Assess(app, deployment)
	return ctrl.Result{}, r.tell(ctx, before, app)
}

// --8<-- [start:assess]

// Assess sets the status of app as its Deployment shows it.
func Assess(app *v1.WebApp, deployment *appsv1.Deployment) {
	app.Status.ObservedGeneration = app.Generation // the generation that this pass has read, never a newer one
	app.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	app.Status.URL = children.URL(app)
	switch {
	case children.RolledOut(deployment):
		conditions(app, v1.Available, "RolledOut", "all replicas are up to date and available")
	case children.RolloutFailed(deployment):
		conditions(app, v1.Degraded, "RolloutFailed", "the Deployment has exceeded its deadline")
	default:
		conditions(app, v1.Progressing, "RollingOut", "the Deployment has not finished its rollout")
	}
}

// conditions sets our three conditions, of which one is true. SetStatusCondition changes lastTransitionTime only when
// the status of a condition changes, and leaves other types alone.
func conditions(app *v1.WebApp, is, reason, message string) {
	for _, each := range []string{v1.Available, v1.Progressing, v1.Degraded} {
		condition := metav1.Condition{
			Type: each, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: app.Generation,
		}
		if each == is {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&app.Status.Conditions, condition)
	}
}

// --8<-- [end:assess]

// Blocked sets the status of a WebApp whose children we couldn't make. It says nothing of what we haven't seen.
func Blocked(app *v1.WebApp, reason, message string) {
	app.Status.ObservedGeneration, app.Status.AvailableReplicas, app.Status.URL = app.Generation, 0, ""
	conditions(app, v1.Degraded, reason, message)
}

// tell makes an Event when the WebApp becomes available or degraded, or stops being so, and reports.
func (r *Reconciler) tell(ctx context.Context, before, app *v1.WebApp) error {
	for _, each := range []string{v1.Available, v1.Degraded} {
		now := meta.FindStatusCondition(app.Status.Conditions, each)
		if meta.IsStatusConditionTrue(before.Status.Conditions, each) == (now.Status == metav1.ConditionTrue) {
			continue
		}
		kind := corev1.EventTypeNormal
		if each == v1.Degraded && now.Status == metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		action := fmt.Sprintf("%sIs%sForGeneration%d", each, now.Status, app.Generation) // another action, another Event
		r.Events.Eventf(app, nil, kind, now.Reason, action, "%s is %s: %s", each, now.Status, now.Message)
	}
	return Report(ctx, r.Client, before, app)
}

// --8<-- [start:report]

// Report writes the status of an object if it differs from before. The patch replaces the list of conditions as a whole, so it
// carries the version that the list was read with: if someone else has written since, the server refuses it, and the
// next pass starts from what they wrote.
func Report(ctx context.Context, c client.Client, before, after client.Object) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil // a write that says nothing new would wake us again
	}
	locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.Status().Patch(ctx, after, locked)) // gone since we read it: nobody to report to
}

// --8<-- [end:report]

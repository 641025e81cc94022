// Package requeue shows the four answers of a reconciler.
package requeue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/go/api/v1"
	owner "converge.example/go/lessons/08_owner_references"
	status "converge.example/go/lessons/09_status"
	"converge.example/go/records"
)

// Reconciler serves each WebApp as far as it can, and says when to look again.
type Reconciler struct {
	client.Client
	Records *records.Client
	Period  time.Duration // to look at what sends no events
}

// --8<-- [start:answers]

// Reconcile gives one of four answers, never two of them at once.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // gone: done, and nothing has failed
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := app.DeepCopy()
	waiting, failed := r.serve(ctx, app)
	if err := r.say(ctx, before, app, waiting, failed); err != nil {
		return ctrl.Result{}, err // failed to report: again, even if the failure itself is for good
	}
	switch {
	case errors.Is(failed, reconcile.TerminalError(nil)):
		return ctrl.Result{}, failed // failed for good: only a change can help, and it brings the WebApp back by itself
	case failed != nil:
		return ctrl.Result{}, failed // failed: again, after a delay that grows
	case waiting != "" || app.Spec.Register != "":
		return ctrl.Result{RequeueAfter: r.Period}, nil // later: nobody will call us
	}
	return ctrl.Result{}, nil // done, and forgotten: the next failure starts from the shortest delay
}

// --8<-- [end:answers]

// serve does what the spec asks for. It returns what we wait for, in words, if that is why it did no more.
func (r *Reconciler) serve(ctx context.Context, app *v1.WebApp) (waiting string, err error) {
	if name := app.Spec.DependsOnSecret; name != "" {
		err := r.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: name}, &corev1.Secret{})
		if client.IgnoreNotFound(err) != nil {
			return "", err // any other error says nothing about the Secret
		}
		if err != nil {
			return fmt.Sprintf("Secret %s is not there yet", name), nil
		}
	}
	deployment, err := owner.EnsureOwned(ctx, r.Client, app)
	if err != nil {
		return "", err
	}
	status.Assess(app, deployment)
	return "", r.register(ctx, app)
}

func (r *Reconciler) register(ctx context.Context, app *v1.WebApp) error {
	host := app.Spec.Register
	if host == "" {
		return nil
	}
	holder, taken, err := r.Records.Get(ctx, host)
	if err != nil || holder == app.UID {
		return err
	}
	if taken {
		return fmt.Errorf("the host %s is taken", host)
	}
	err = r.Records.Put(ctx, host, app.UID)
	if errors.Is(err, records.Refused(http.StatusBadRequest)) || errors.Is(err, records.Refused(http.StatusUnprocessableEntity)) {
		return reconcile.TerminalError(fmt.Errorf("the service refuses the host %s: %w", host, err))
	}
	return err
}

// say reports how the pass went.
func (r *Reconciler) say(ctx context.Context, before, app *v1.WebApp, waiting string, failed error) error {
	condition := metav1.Condition{
		Type: "Reconciled", Status: metav1.ConditionTrue, Reason: "Done",
		Message: "all that the spec asks for is there", ObservedGeneration: app.Generation,
	}
	if waiting != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "WaitingForSecret", waiting
	}
	if failed != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "Failed", failed.Error()
	}
	app.Status.ObservedGeneration = app.Generation
	meta.SetStatusCondition(&app.Status.Conditions, condition)
	return status.Report(ctx, r.Client, before, app)
}

// --8<-- [start:setup]

// Setup runs the reconciler with a queue whose delays begin at base, double, and end at longest.
func Setup(manager ctrl.Manager, reconciler *Reconciler, base, longest time.Duration) error {
	return owner.Setup(manager, reconciler, controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](base, longest),
	})
}

// --8<-- [end:setup]

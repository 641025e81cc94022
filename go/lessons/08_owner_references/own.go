// Package owner ties children to their WebApp: the garbage collector removes them, their events bring it back.
package owner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/go/api/v1"
	drift "converge.example/go/lessons/07_drift"
)

// Reconciler keeps the Deployment and the Service of each WebApp, and owns them.
type Reconciler struct {
	client.Client
	Events events.EventRecorder
}

// Reconcile makes every child exist, as wanted and as ours, and reports what belongs to someone else.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the garbage collector is at work: anything we create now, it has to delete again
	}
	_, err := EnsureOwned(ctx, r.Client, app)
	if taken := (NameTaken)(""); errors.As(err, &taken) {
		both := strings.ReplaceAll(err.Error(), "\n", "; ") // either name may be the one to clear
		r.Events.Eventf(app, nil, corev1.EventTypeWarning, "NameTaken", "Reconcile", "%s", both)
		return ctrl.Result{RequeueAfter: 30 * time.Second}, nil // a stranger's object that goes sends us no event
	}
	return ctrl.Result{}, err
}

// NameTaken says that someone else's object has the name of a child.
type NameTaken string

func (taken NameTaken) Error() string { return string(taken) }

// --8<-- [start:setup]

// Setup watches WebApps and the children that a WebApp controls: a deleted Deployment enqueues its owner's name.
func Setup(manager ctrl.Manager, reconciler reconcile.Reconciler, options controller.Options) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1.WebApp{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		WithOptions(options).
		Complete(reconciler)
}

// --8<-- [end:setup]

// --8<-- [start:own]

// EnsureOwned makes both children exist as app's own, and returns the Deployment. A name that someone else has taken
// doesn't keep the other child from being served.
func EnsureOwned(ctx context.Context, c client.Client, app *v1.WebApp) (*appsv1.Deployment, error) {
	name := metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}
	deployment, service := &appsv1.Deployment{ObjectMeta: name}, &corev1.Service{ObjectMeta: name}

	first := Read(ctx, c, app, deployment)
	if first == nil {
		wanted := drift.Deployment(app).WithOwnerReferences(Reference("WebApp", app))
		first = drift.EnsureDeployment(ctx, c, deployment, wanted)
	}
	second := Read(ctx, c, app, service)
	if second == nil {
		wanted := drift.Service(app).WithOwnerReferences(Reference("WebApp", app))
		second = drift.EnsureService(ctx, c, service, wanted)
	}
	for _, err := range []error{first, second} {
		if taken := (NameTaken)(""); err != nil && !errors.As(err, &taken) {
			return deployment, err // a failure is tried again soon, and a taken name only after a while
		}
	}
	return deployment, errors.Join(first, second)
}

// Read reads a child, if it exists, and says NameTaken if it isn't ours. One whose reference was removed we know by the
// fields that we have applied: it gets the reference back.
func Read(ctx context.Context, c client.Client, owner, child client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(child), child)
	if err != nil || metav1.IsControlledBy(child, owner) { // by uid: an owner of this name yesterday was another one
		return client.IgnoreNotFound(err)
	}
	kind, _ := c.GroupVersionKindFor(child)
	if other := metav1.GetControllerOf(child); other != nil {
		return NameTaken(fmt.Sprintf("%s %s is managed by %s %s", kind.Kind, child.GetName(), other.Kind, other.Name))
	}
	applied := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == drift.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply
	}
	if !slices.ContainsFunc(child.GetManagedFields(), applied) {
		return NameTaken(fmt.Sprintf("%s %s was made by someone else", kind.Kind, child.GetName()))
	}
	return nil
}

// Reference is what a child says about its owner. Make one for each child: Apply reads the server's answer into the
// configuration that it has sent, and that writes through its pointers.
func Reference(kind string, owner client.Object) *metav1apply.OwnerReferenceApplyConfiguration {
	return metav1apply.OwnerReference().
		WithAPIVersion(v1.GroupVersion.String()).WithKind(kind).WithName(owner.GetName()).WithUID(owner.GetUID()).
		WithController(true).WithBlockOwnerDeletion(true)
}

// --8<-- [end:own]

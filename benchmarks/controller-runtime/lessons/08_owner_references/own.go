// Package owner ties children to their WebApp: the garbage collector removes them, their events bring it back.
package owner

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/controller-runtime/api/v1"
	"converge.example/controller-runtime/children"
)

// --8<-- [start:setup]

// Setup watches WebApps and the children that a WebApp controls: a deleted Deployment enqueues its owner's name.
func Setup(manager ctrl.Manager, reconciler reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1.WebApp{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Complete(reconciler)
}

// --8<-- [end:setup]

// --8<-- [start:own]

// Own makes app the controller of its Service, and refuses one that is not ours.
func Own(ctx context.Context, c client.Client, app *v1.WebApp) error {
	if !app.DeletionTimestamp.IsZero() {
		return nil // the garbage collector is at work; what we create now it would have to delete again
	}
	service := children.Service(app)
	if err := ctrl.SetControllerReference(app, service, c.Scheme()); err != nil {
		return err
	}
	err := c.Create(ctx, service)
	if client.IgnoreAlreadyExists(err) != nil {
		return err
	}

	found := &corev1.Service{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(service), found); err != nil {
		return err
	}
	if metav1.IsControlledBy(found, app) { // compares the uid: a WebApp of the same name yesterday was another one
		return nil
	}
	if other := metav1.GetControllerOf(found); other != nil {
		return reconcile.TerminalError(fmt.Errorf("Service %s belongs to %s %s", found.Name, other.Kind, other.Name))
	}
	return reconcile.TerminalError(fmt.Errorf("Service %s was made by somebody else", found.Name))
}

// --8<-- [end:own]

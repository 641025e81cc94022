// Package idempotency creates children so that twice is once.
package idempotency

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/go/api/v1"
	"converge.example/go/children"
)

// Reconciler makes a Deployment and a Service exist for each WebApp.
type Reconciler struct {
	client.Client
}

// --8<-- [start:ensure]

// Reconcile creates what is missing and leaves alone what is there.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{}, errors.Join( // each by itself: one that fails doesn't hold up the other
		r.ensure(ctx, children.Deployment(app)), // its name follows from the WebApp's: never generateName
		r.ensure(ctx, children.Service(app)),
	)
}

// ensure makes child exist, whether this call, an earlier one or a crashed one creates it.
func (r *Reconciler) ensure(ctx context.Context, child client.Object) error {
	found := child.DeepCopyObject().(client.Object)
	err := r.Get(ctx, client.ObjectKeyFromObject(child), found)
	if !apierrors.IsNotFound(err) {
		return err // it is there; or we can't tell, and try again
	}
	// An earlier pass made it, and this read was too old to show it: then there is nothing to do.
	return client.IgnoreAlreadyExists(r.Create(ctx, child))
}

// --8<-- [end:ensure]

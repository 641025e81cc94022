// Package conflicts changes an object beside other writers and loses nothing.
package conflicts

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/go/api/v1"
)

const (
	ticket      = "tickets.converge.example/"
	served      = "converge.example/served"
	oldRegistry = "registry.old.example/"
	newRegistry = "registry.example/"
)

// Reconciler serves the tickets of each WebApp and migrates its images.
type Reconciler struct {
	client.Client
}

// Reconcile makes both changes, on what is there now.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	err := errors.Join(
		Update(ctx, r.Client, request.NamespacedName, serveTickets),
		Update(ctx, r.Client, request.NamespacedName, migrateImages),
	)
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

func serveTickets(app *v1.WebApp) error {
	count, err := strconv.Atoi(cmp.Or(app.Annotations[served], "0"))
	if err != nil {
		return err
	}
	for key := range app.Annotations {
		if strings.HasPrefix(key, ticket) {
			delete(app.Annotations, key)
			count++
			app.Annotations[served] = strconv.Itoa(count) // in the same object: one write stores both or neither
		}
	}
	return nil
}

func migrateImages(app *v1.WebApp) error {
	for _, image := range []*string{&app.Spec.Image, &app.Spec.Sidecar} {
		if name, old := strings.CutPrefix(*image, oldRegistry); old {
			*image = newRegistry + name
		}
	}
	return nil
}

// --8<-- [start:retry]

// Update reads the WebApp, changes it and writes it. The read is inside the retried function: after a 409 the change is
// made again on what the other writer left. Sending the old object with a new resourceVersion would undo their work.
func Update(ctx context.Context, c client.Client, key client.ObjectKey, change func(*v1.WebApp) error) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		app := &v1.WebApp{}
		if err := c.Get(ctx, key, app); err != nil {
			return err
		}
		before := app.DeepCopy()
		if err := change(app); err != nil || equality.Semantic.DeepEqual(before, app) {
			return err
		}
		return c.Update(ctx, app) // carries the resourceVersion that was read
	})
}

// --8<-- [end:retry]

// --8<-- [start:patch]

// Mark sets a value that does not depend on what was there, so it needs no version: a merge patch of one field.
func Mark(ctx context.Context, c client.Client, app *v1.WebApp, value string) error {
	before := app.DeepCopy()
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations["converge.example/mark"] = value
	return c.Patch(ctx, app, client.MergeFrom(before))
}

// --8<-- [end:patch]

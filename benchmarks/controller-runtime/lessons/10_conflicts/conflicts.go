// Package conflicts changes an object beside other writers and loses nothing.
package conflicts

import (
	"context"
	"strconv"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/controller-runtime/api/v1"
)

const counter = "converge.example/count"

// --8<-- [start:retry]

// Increment adds one to an annotation. The read is inside the retried function: after a 409 the change is made again
// on what the other writer left. Sending the old object with a new resourceVersion would undo that writer's work.
func Increment(ctx context.Context, c client.Client, key client.ObjectKey) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		app := &v1.WebApp{}
		if err := c.Get(ctx, key, app); err != nil {
			return err
		}
		count, _ := strconv.Atoi(app.Annotations[counter])
		if app.Annotations == nil {
			app.Annotations = map[string]string{}
		}
		app.Annotations[counter] = strconv.Itoa(count + 1)
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

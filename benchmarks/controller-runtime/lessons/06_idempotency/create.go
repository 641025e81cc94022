// Package idempotency creates children so that twice is once.
package idempotency

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/controller-runtime/api/v1"
	"converge.example/controller-runtime/children"
)

// --8<-- [start:ensure]

// EnsureDeployment returns the one Deployment of app, whether this call, an earlier one or a crashed one made it.
func EnsureDeployment(ctx context.Context, c client.Client, app *v1.WebApp) (*appsv1.Deployment, error) {
	wanted := children.Deployment(app) // its name follows from the WebApp's: never generateName
	found := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	if !apierrors.IsNotFound(err) {
		return found, err
	}
	err = c.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		// Get reads a cache, and the cache has not heard of our own create yet. The Deployment's event is on its way
		// and brings this WebApp back, so there is nothing to repair and nothing to report as a failure.
		return wanted, nil
	}
	return wanted, err
}

// --8<-- [end:ensure]

// --8<-- [start:sidecar]

// WithSidecar adds the logging container, or mends the one that is there. It looks by name: appending would add
// one more at each pass.
func WithSidecar(pod *corev1.PodSpec, image string) {
	for i := range pod.Containers {
		if pod.Containers[i].Name == "logger" {
			pod.Containers[i].Image = image
			return
		}
	}
	pod.Containers = append(pod.Containers, corev1.Container{Name: "logger", Image: image})
}

// --8<-- [end:sidecar]

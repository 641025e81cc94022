// Package drift states the fields that the operator owns and leaves all others to their owners.
package drift

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "converge.example/controller-runtime/api/v1"
	"converge.example/controller-runtime/children"
)

// --8<-- [start:apply]

// Apply says what we want and nothing else. The server compares, defaults and remembers who owns which field:
// a label that is left out next time is removed, an annotation of somebody else stays.
func Apply(ctx context.Context, c client.Client, app *v1.WebApp) error {
	spec := appsv1apply.DeploymentSpec().
		WithSelector(metav1apply.LabelSelector().WithMatchLabels(children.Selector(app))).
		WithTemplate(corev1apply.PodTemplateSpec().
			WithLabels(children.Labels(app)).
			WithSpec(corev1apply.PodSpec().WithContainers(corev1apply.Container().
				WithName("web").
				WithImage(app.Spec.Image).
				WithPorts(corev1apply.ContainerPort().WithName("http").WithContainerPort(app.Spec.Port)))))
	if !app.Spec.Autoscaled { // else the autoscaler owns the number: a field that is not sent is not ours
		spec = spec.WithReplicas(*app.Spec.Replicas)
	}
	deployment := appsv1apply.Deployment(app.Name, app.Namespace).
		WithLabels(children.Labels(app)).
		WithSpec(spec)
	return c.Apply(ctx, deployment, client.FieldOwner("webapp-operator"), client.ForceOwnership)
}

// --8<-- [end:apply]

// --8<-- [start:mutate]

// Update does the same by read, change, compare. The function sets our fields on what the server returned, with all
// its defaults, so "nothing changed" can be true; comparing with a freshly built object never is.
func Update(ctx context.Context, c client.Client, app *v1.WebApp) (controllerutil.OperationResult, error) {
	deployment := &appsv1.Deployment{}
	deployment.Name, deployment.Namespace = app.Name, app.Namespace
	return controllerutil.CreateOrUpdate(ctx, c, deployment, func() error {
		wanted := children.Deployment(app)
		if deployment.CreationTimestamp.IsZero() {
			wanted.DeepCopyInto(deployment)
			return nil
		}
		if !app.Spec.Autoscaled {
			deployment.Spec.Replicas = wanted.Spec.Replicas
		}
		for i := range deployment.Spec.Template.Spec.Containers {
			if container := &deployment.Spec.Template.Spec.Containers[i]; container.Name == "web" {
				container.Image = app.Spec.Image
			}
		}
		return nil
	})
}

// --8<-- [end:mutate]

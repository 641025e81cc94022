// Package drift states the fields that the operator owns and leaves all others to their owners.
package drift

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "converge.example/go/api/v1"
	"converge.example/go/children"
)

// FieldManager is how the API server knows which fields are ours.
const FieldManager = "webapp-operator"

// Reconciler keeps the Deployment and the Service of each WebApp the way its spec says.
type Reconciler struct {
	client.Client
}

// Reconcile corrects whatever is ours and not as wanted.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	for _, child := range []client.Object{deployment, service} {
		if err := r.Get(ctx, request.NamespacedName, child); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, errors.Join(
		EnsureDeployment(ctx, r.Client, deployment, Deployment(app)),
		EnsureService(ctx, r.Client, service, Service(app)),
	)
}

// --8<-- [start:desired]

// Deployment is what app asks for. The fields named here are ours; the ones left out belong to others.
func Deployment(app *v1.WebApp) *appsv1apply.DeploymentApplyConfiguration {
	port := corev1apply.ContainerPort().WithName("http").WithContainerPort(app.Spec.Port).WithProtocol(corev1.ProtocolTCP)
	pod := corev1apply.PodSpec().
		WithContainers(corev1apply.Container().WithName("web").WithImage(app.Spec.Image).WithPorts(port))
	if app.Spec.Sidecar != "" {
		pod.WithContainers(corev1apply.Container().WithName("logger").WithImage(app.Spec.Sidecar))
	}
	spec := appsv1apply.DeploymentSpec().
		WithSelector(metav1apply.LabelSelector().WithMatchLabels(children.Selector(app))).
		WithTemplate(corev1apply.PodTemplateSpec().WithLabels(children.Labels(app)).WithSpec(pod))
	if !app.Spec.Autoscaled { // otherwise the number is the autoscaler's
		spec.WithReplicas(*app.Spec.Replicas)
	}
	return appsv1apply.Deployment(app.Name, app.Namespace).WithLabels(children.Labels(app)).WithSpec(spec)
}

// --8<-- [end:desired]

// Service is what app asks for.
func Service(app *v1.WebApp) *corev1apply.ServiceApplyConfiguration {
	port := corev1apply.ServicePort().
		WithName("http").WithPort(app.Spec.Port).WithProtocol(corev1.ProtocolTCP).WithTargetPort(intstr.FromString("http"))
	return corev1apply.Service(app.Name, app.Namespace).
		WithLabels(children.Labels(app)).
		WithSpec(corev1apply.ServiceSpec().WithSelector(children.Selector(app)).WithPorts(port))
}

// --8<-- [start:apply]

// Ensure makes an object match wanted, and leaves it in live, which is the object as it was read, or empty if there is
// none. It writes only if one of our fields isn't as wanted.
func Ensure[Live client.Object, Wanted runtime.ApplyConfiguration](
	ctx context.Context, c client.Client, live Live, wanted Wanted, extract func(Live, string) (Wanted, error),
) error {
	ours, err := extract(live, FieldManager) // what we own of it, as it is now
	if err != nil || equality.Semantic.DeepEqual(ours, wanted) {
		return err
	}
	// Force: what we own is ours again, no matter who changed it.
	if err := c.Apply(ctx, wanted, client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		return err
	}
	answer, err := json.Marshal(wanted) // Apply has read the server's answer into it: the object after the write
	if err != nil {
		return err
	}
	reflect.ValueOf(live).Elem().SetZero() // Unmarshal keeps what the answer leaves out, such as a count that is 0
	return json.Unmarshal(answer, live)
}

// EnsureDeployment makes the Deployment match wanted.
func EnsureDeployment(
	ctx context.Context, c client.Client, live *appsv1.Deployment, wanted *appsv1apply.DeploymentApplyConfiguration,
) error {
	ours, err := appsv1apply.ExtractDeployment(live, FieldManager)
	if err != nil {
		return err
	}
	if wanted.Spec.Replicas == nil && ours.Spec != nil {
		// If we let go of a field that no one else owns, it falls back to its default, here 1. So we keep asking for
		// the value that it has, until someone takes it from us.
		wanted.Spec.Replicas = ours.Spec.Replicas
	}
	return Ensure(ctx, c, live, wanted, appsv1apply.ExtractDeployment)
}

// --8<-- [end:apply]

// --8<-- [start:service]

// EnsureService makes the Service match wanted.
func EnsureService(
	ctx context.Context, c client.Client, live *corev1.Service, wanted *corev1apply.ServiceApplyConfiguration,
) error {
	ports := wanted.Spec.Ports
	err := Ensure(ctx, c, live, wanted, corev1apply.ExtractService)
	if !apierrors.IsInvalid(err) {
		return err
	}
	// A port's key is its number and protocol. Someone who renumbers ours has made a port of their own, and ours next to
	// it would have the same name. Only writing the list as a whole gets rid of theirs.
	whole, err := json.Marshal(map[string]any{"spec": map[string]any{"ports": ports}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, live, client.RawPatch(types.MergePatchType, whole), client.FieldOwner(FieldManager))
}

// --8<-- [end:service]

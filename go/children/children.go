// Package children builds the objects that run a WebApp. Pure functions: the same WebApp, the same children.
package children

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "converge.example/go/api/v1"
)

// Selector names the Pods of a WebApp. It never changes, because a Deployment's selector cannot.
func Selector(app *v1.WebApp) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "webapp", "app.kubernetes.io/instance": app.Name}
}

// Labels are the user's and ours; ours win.
func Labels(app *v1.WebApp) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, app.Spec.Labels)
	maps.Copy(labels, Selector(app))
	return labels
}

// --8<-- [start:deployment]

// Deployment is the Deployment that app should have. Its name follows from the WebApp's, so a second run finds it.
func Deployment(app *v1.WebApp) *appsv1.Deployment {
	pod := corev1.PodSpec{Containers: []corev1.Container{{
		Name:  "web",
		Image: app.Spec.Image,
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: app.Spec.Port}},
	}}}
	if app.Spec.Sidecar != "" {
		pod.Containers = append(pod.Containers, corev1.Container{Name: "logger", Image: app.Spec.Sidecar})
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace, Labels: Labels(app)},
		Spec: appsv1.DeploymentSpec{
			Replicas: app.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: Selector(app)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: Labels(app)},
				Spec:       pod,
			},
		},
	}
}

// --8<-- [end:deployment]

// Service is the Service that app should have.
func Service(app *v1.WebApp) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace, Labels: Labels(app)},
		Spec: corev1.ServiceSpec{
			Selector: Selector(app),
			Ports:    []corev1.ServicePort{{Name: "http", Port: app.Spec.Port, TargetPort: intstr.FromString("http")}},
		},
	}
}

// Container is the container of that name, which is added if there is none. Its place says nothing: an injector may have
// put a container of its own in front.
func Container(pod *corev1.PodSpec, name string) *corev1.Container {
	for i := range pod.Containers {
		if pod.Containers[i].Name == name {
			return &pod.Containers[i]
		}
	}
	pod.Containers = append(pod.Containers, corev1.Container{Name: name})
	return &pod.Containers[len(pod.Containers)-1]
}

// URL is where the Service answers inside the cluster.
func URL(app *v1.WebApp) string {
	return fmt.Sprintf("http://%s.%s.svc:%d", app.Name, app.Namespace, app.Spec.Port)
}

// RolledOut says whether the Deployment controller has finished with the newest generation.
func RolledOut(deployment *appsv1.Deployment) bool {
	wanted := int32(1)
	if deployment.Spec.Replicas != nil {
		wanted = *deployment.Spec.Replicas
	}
	status := deployment.Status
	return status.ObservedGeneration >= deployment.Generation &&
		status.UpdatedReplicas == wanted && status.Replicas == wanted && status.AvailableReplicas == wanted
}

// RolloutFailed says whether the Deployment controller has given up on the newest generation.
func RolloutFailed(deployment *appsv1.Deployment) bool {
	for _, each := range deployment.Status.Conditions {
		if each.Type == appsv1.DeploymentProgressing && each.Status == corev1.ConditionFalse {
			return deployment.Status.ObservedGeneration >= deployment.Generation
		}
	}
	return false
}

// Command site-operator is an operator on controller-runtime: a Site is a ConfigMap with the page and a Deployment
// that serves it.
package main

import (
	"context"
	"flag"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func newSite() *unstructured.Unstructured {
	site := &unstructured.Unstructured{}
	site.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Site"})
	return site
}

// --8<-- [start:reconcile]

// Reconciler keeps the children of each Site. They're read from the manager's caches, the Site from the server.
type Reconciler struct {
	client.Client
}

// Reconcile makes the children what the Site asks for.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := newSite()
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if site.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	if err := r.page(ctx, site); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.server(ctx, site)
}

func (r *Reconciler) page(ctx context.Context, site *unstructured.Unstructured) error {
	text, _, _ := unstructured.NestedString(site.Object, "spec", "text")
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: site.GetName(), Namespace: site.GetNamespace()}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, page, func() error {
		page.Data = map[string]string{"index.html": text}
		return ctrl.SetControllerReference(site, page, r.Scheme())
	})
	return err
}

// server says only what it owns, field by field, so that what others have added stays.
func (r *Reconciler) server(ctx context.Context, site *unstructured.Unstructured) error {
	name := site.GetName()
	labels := map[string]string{"site": name}
	wanted, _, _ := unstructured.NestedInt64(site.Object, "spec", "replicas")
	replicas := int32(wanted)
	server := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: site.GetNamespace()}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, server, func() error {
		if server.CreationTimestamp.IsZero() {
			server.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
			server.Spec.Template.Labels = labels
			server.Spec.Template.Spec.Containers = []corev1.Container{{
				Name:         "web",
				Image:        "nginx:1.29",
				VolumeMounts: []corev1.VolumeMount{{Name: "page", MountPath: "/usr/share/nginx/html"}},
			}}
			page := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
			server.Spec.Template.Spec.Volumes = []corev1.Volume{{
				Name: "page", VolumeSource: corev1.VolumeSource{ConfigMap: &page},
			}}
		}
		server.Spec.Replicas = &replicas
		return ctrl.SetControllerReference(site, server, r.Scheme())
	})
	return err
}

// --8<-- [end:reconcile]

func run(namespace string) error {
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metrics.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(newSite()).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Complete(&Reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	namespace := flag.String("namespace", "", "the namespace to work in; all of them when empty")
	flag.Parse() // --kubeconfig is registered by controller-runtime
	ctrl.SetLogger(klog.Background())
	if err := run(*namespace); err != nil {
		klog.ErrorS(err, "the operator ended")
		os.Exit(1)
	}
}

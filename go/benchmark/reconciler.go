package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1 "converge.example/go/api/v1"
	"converge.example/go/children"
)

// Reconciler keeps a Deployment and a Service for each WebApp. Every read is from the manager's caches.
type Reconciler struct {
	client.Client
}

// Setup watches WebApps, but not their status, and the children that they control.
func (r *Reconciler) Setup(manager ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1.WebApp{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// Reconcile makes the children what the WebApp asks for, then reports.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	deployment, err := r.deployment(ctx, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.service(ctx, app); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, app, deployment)
}

func (r *Reconciler) deployment(ctx context.Context, app *v1.WebApp) (*appsv1.Deployment, error) {
	found, wanted := &appsv1.Deployment{}, children.Deployment(app)
	found.Name, found.Namespace = wanted.Name, wanted.Namespace
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, found, func() error {
		if found.CreationTimestamp.IsZero() {
			wanted.DeepCopyInto(found)
		}
		found.Labels = wanted.Labels
		found.Spec.Replicas = wanted.Spec.Replicas
		found.Spec.Template.Labels = wanted.Spec.Template.Labels
		web := children.Container(&found.Spec.Template.Spec, "web")
		web.Image = app.Spec.Image
		web.Ports[0].ContainerPort = app.Spec.Port
		return ctrl.SetControllerReference(app, found, r.Scheme())
	})
	return found, err
}

func (r *Reconciler) service(ctx context.Context, app *v1.WebApp) error {
	found, wanted := &corev1.Service{}, children.Service(app)
	found.Name, found.Namespace = wanted.Name, wanted.Namespace
	wanted.Spec.ClusterIP = corev1.ClusterIPNone // as in benchmarks/operators/children.py, which says why
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, found, func() error {
		if found.CreationTimestamp.IsZero() {
			wanted.DeepCopyInto(found)
		}
		found.Labels = wanted.Labels
		found.Spec.Selector = wanted.Spec.Selector
		found.Spec.Ports[0].Port = app.Spec.Port
		return ctrl.SetControllerReference(app, found, r.Scheme())
	})
	return err
}

func (r *Reconciler) report(ctx context.Context, app *v1.WebApp, deployment *appsv1.Deployment) error {
	before := app.DeepCopy()
	app.Status.ObservedGeneration = app.Generation
	app.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	app.Status.URL = children.URL(app)
	available := metav1.Condition{
		Type: v1.Available, Status: metav1.ConditionFalse, Reason: "RollingOut",
		Message: "the Deployment has not finished its rollout", ObservedGeneration: app.Generation,
	}
	if children.RolledOut(deployment) {
		available.Status, available.Reason, available.Message = metav1.ConditionTrue, "RolledOut", "all replicas are available"
	}
	meta.SetStatusCondition(&app.Status.Conditions, available)
	if equality.Semantic.DeepEqual(before.Status, app.Status) {
		return nil
	}
	return r.Status().Patch(ctx, app, client.MergeFrom(before))
}

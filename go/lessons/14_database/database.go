// Package database keeps state: a password made once, storage that outlives the Pod, fields that cannot change.
package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/go/api/v1"
	"converge.example/go/children"
	drift "converge.example/go/lessons/07_drift"
	owner "converge.example/go/lessons/08_owner_references"
	status "converge.example/go/lessons/09_status"
)

// Reconciler keeps the children of each Database, and reports how they are.
type Reconciler struct {
	client.Client
}

// Setup watches Databases and whatever carries their labels: a Secret that is kept has no owner.
func Setup(manager ctrl.Manager) error {
	byLabel := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, child client.Object) []reconcile.Request {
		labels := child.GetLabels()
		if labels["app.kubernetes.io/managed-by"] != "database-operator" {
			return nil
		}
		key := client.ObjectKey{Namespace: child.GetNamespace(), Name: labels["app.kubernetes.io/instance"]}
		return []reconcile.Request{{NamespacedName: key}}
	})
	builder := ctrl.NewControllerManagedBy(manager).For(&v1.Database{})
	for _, kind := range []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.Secret{}, &corev1.ConfigMap{}} {
		builder = builder.Watches(kind, byLabel)
	}
	return builder.Complete(&Reconciler{Client: manager.GetClient()})
}

// Reconcile makes first what the others need, then the rest, then the report.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	database := &v1.Database{}
	if err := r.Get(ctx, request.NamespacedName, database); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !database.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := database.DeepCopy()
	set, refused, err := r.serve(ctx, database)
	if taken := (owner.NameTaken)(""); errors.As(err, &taken) {
		blocked(database, taken.Error())
		if err := status.Report(ctx, r.Client, before, database); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: 2 * time.Second}, nil // we may get no event when it goes: it isn't ours
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	assess(database, set, refused)
	return ctrl.Result{}, status.Report(ctx, r.Client, before, database)
}

func (r *Reconciler) serve(ctx context.Context, database *v1.Database) (*appsv1.StatefulSet, string, error) {
	if err := r.ensureSecret(ctx, database); err != nil {
		return nil, "", err
	}
	name := metav1.ObjectMeta{Name: database.Name, Namespace: database.Namespace}
	config, wanted := &corev1.ConfigMap{ObjectMeta: name}, children.DatabaseConfig(database)
	config.Name = *wanted.Name
	wanted.WithOwnerReferences(owner.Reference("Database", database))
	if err := owner.Read(ctx, r.Client, database, config); err != nil {
		return nil, "", err
	}
	if err := drift.Ensure(ctx, r.Client, config, wanted, corev1apply.ExtractConfigMap); err != nil {
		return nil, "", err
	}
	service := &corev1.Service{ObjectMeta: name}
	if err := owner.Read(ctx, r.Client, database, service); err != nil {
		return nil, "", err
	}
	headless := children.DatabaseService(database).WithOwnerReferences(owner.Reference("Database", database))
	if err := drift.EnsureService(ctx, r.Client, service, headless); err != nil {
		return nil, "", err
	}
	set := &appsv1.StatefulSet{ObjectMeta: name}
	refused, err := r.ensureStatefulSet(ctx, database, set)
	if err != nil {
		return nil, "", err
	}
	return set, refused, r.ensureClaims(ctx, database, set)
}

// --8<-- [start:secret]

// ensureSecret creates the Secret if there is none. Its contents never change, since the running server knows only the
// first password. Its owner follows the deletionPolicy: with Retain the files outlive the Database, and only this
// password opens them, so nothing may own it.
func (r *Reconciler) ensureSecret(ctx context.Context, database *v1.Database) error {
	labels := children.DatabaseLabels(database)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: database.Name + "-credentials", Namespace: database.Namespace}}
	err := r.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) {
		secret.Labels = labels
		secret.StringData = map[string]string{"username": "postgres", "password": rand.Text()}
		if err := r.follow(database, secret); err != nil {
			return err
		}
		return r.Create(ctx, secret) // if someone was faster: AlreadyExists, and the next pass asks whose it is
	}
	if err != nil {
		return err
	}
	labelled := klabels.SelectorFromSet(labels).Matches(klabels.Set(secret.Labels)) // others may have added theirs
	if !metav1.IsControlledBy(secret, database) && (metav1.GetControllerOf(secret) != nil || !labelled) {
		return owner.NameTaken(fmt.Sprintf("Secret %s was made by someone else", secret.Name))
	}
	before := secret.DeepCopy()
	if err := r.follow(database, secret); err != nil || equality.Semantic.DeepEqual(before, secret) {
		return err
	}
	return r.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// follow sets or removes the owner of the Secret, in memory.
func (r *Reconciler) follow(database *v1.Database, secret *corev1.Secret) error {
	if database.Spec.DeletionPolicy == "Delete" {
		return ctrl.SetControllerReference(database, secret, r.Scheme())
	}
	if metav1.IsControlledBy(secret, database) {
		removeOwner(database, secret)
	}
	return nil
}

// --8<-- [end:secret]

func removeOwner(owner, child client.Object) {
	kept := []metav1.OwnerReference{}
	for _, each := range child.GetOwnerReferences() {
		if each.UID != owner.GetUID() {
			kept = append(kept, each)
		}
	}
	child.SetOwnerReferences(kept)
}

// --8<-- [start:statefulset]

// StatefulSet is what runs the database.
func StatefulSet(database *v1.Database) *appsv1apply.StatefulSetApplyConfiguration {
	storage := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(database.Spec.Storage.Size)}
	claim := corev1apply.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1apply.VolumeResourceRequirements().WithRequests(storage))
	if database.Spec.Storage.Class != "" {
		claim.WithStorageClassName(database.Spec.Storage.Class)
	}
	data := corev1apply.PersistentVolumeClaim("data", "").WithSpec(claim)
	data.Namespace = nil
	template := corev1apply.PodTemplateSpec().
		WithLabels(children.DatabaseSelector(database)).
		// A server reads its ConfigMap when it starts. With this, a new ConfigMap means new Pods.
		WithAnnotations(map[string]string{"converge.example/config": children.Checksum(children.DatabaseConfig(database))}).
		WithSpec(children.DatabasePod(database))
	return appsv1apply.StatefulSet(database.Name, database.Namespace).
		WithLabels(children.DatabaseLabels(database)).
		WithSpec(appsv1apply.StatefulSetSpec().
			WithServiceName(database.Name). // the headless Service: it gives each Pod its own DNS name
			WithReplicas(*database.Spec.Replicas).
			WithSelector(metav1apply.LabelSelector().WithMatchLabels(children.DatabaseSelector(database))).
			WithTemplate(template).
			WithVolumeClaimTemplates(data).
			WithPersistentVolumeClaimRetentionPolicy(appsv1apply.StatefulSetPersistentVolumeClaimRetentionPolicy().
				WithWhenDeleted(appsv1.PersistentVolumeClaimRetentionPolicyType(database.Spec.DeletionPolicy)).
				WithWhenScaled(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)))
}

// --8<-- [end:statefulset]

// --8<-- [start:immutable]

// ensureStatefulSet applies the StatefulSet, except for what can't change, and says in words what was refused.
func (r *Reconciler) ensureStatefulSet(ctx context.Context, database *v1.Database, live *appsv1.StatefulSet) (string, error) {
	if err := owner.Read(ctx, r.Client, database, live); err != nil {
		return "", err
	}
	wanted := StatefulSet(database).WithOwnerReferences(owner.Reference("Database", database))
	asked := wanted.Spec.VolumeClaimTemplates[0].Spec
	ours, err := appsv1apply.ExtractStatefulSet(live, drift.FieldManager)
	if err != nil {
		return "", err
	}
	if ours.Spec != nil { // the server would refuse other templates, and everything else with them
		wanted.Spec.VolumeClaimTemplates = ours.Spec.VolumeClaimTemplates
	}
	size, class := database.Spec.Storage.Size, asked.StorageClassName
	if err := drift.Ensure(ctx, r.Client, live, wanted, appsv1apply.ExtractStatefulSet); err != nil {
		return "", err
	}
	there := live.Spec.VolumeClaimTemplates[0].Spec
	if stays := there.Resources.Requests.Storage(); stays.Cmp(resource.MustParse(size)) != 0 { // 1024Mi is 1Gi
		return fmt.Sprintf("storage.size stays %s and cannot become %s", stays, size), nil
	}
	if !equality.Semantic.DeepEqual(there.StorageClassName, class) {
		return "storage.class cannot change", nil
	}
	return "", nil
}

// --8<-- [end:immutable]

// ensureClaims applies the policy to the claims of servers that were scaled away: the StatefulSet no longer looks at those.
func (r *Reconciler) ensureClaims(ctx context.Context, database *v1.Database, set *appsv1.StatefulSet) error {
	claims := &corev1.PersistentVolumeClaimList{}
	selector := client.MatchingLabels(children.DatabaseSelector(database))
	if err := r.List(ctx, claims, client.InNamespace(database.Namespace), selector); err != nil {
		return err
	}
	reference := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID}
	for i := range claims.Items {
		claim := &claims.Items[i]
		number, err := strconv.Atoi(strings.TrimPrefix(claim.Name, "data-"+set.Name+"-"))
		if err != nil || int32(number) < *set.Spec.Replicas {
			continue
		}
		before := claim.DeepCopy()
		removeOwner(set, claim)
		if database.Spec.DeletionPolicy == "Delete" {
			claim.OwnerReferences = append(claim.OwnerReferences, reference)
		}
		if len(before.OwnerReferences) == len(claim.OwnerReferences) {
			continue
		}
		locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Patch(ctx, claim, locked); err != nil {
			return err
		}
	}
	return nil
}

func assess(database *v1.Database, set *appsv1.StatefulSet, refused string) {
	seen, wanted := set.Status, *set.Spec.Replicas
	database.Status.ObservedGeneration = database.Generation
	database.Status.ReadyReplicas = seen.ReadyReplicas
	database.Status.Endpoint = fmt.Sprintf("%s-0.%s.%s.svc:5432", database.Name, database.Name, database.Namespace)
	done := seen.ObservedGeneration == set.Generation &&
		seen.Replicas == wanted && seen.UpdatedReplicas == wanted && seen.ReadyReplicas == wanted
	reason, degraded := "RollingOut", "AsAsked"
	if done {
		reason = "RolledOut"
	}
	if refused != "" {
		degraded = "CannotChange"
	}
	message := fmt.Sprintf("of %d servers %d are ready", wanted, seen.ReadyReplicas)
	condition(database, v1.Available, done, reason, message)
	condition(database, v1.Progressing, !done, reason, message)
	condition(database, v1.Degraded, refused != "", degraded, refused)
}

func blocked(database *v1.Database, message string) {
	database.Status.ObservedGeneration, database.Status.ReadyReplicas = database.Generation, 0
	condition(database, v1.Available, false, "NameTaken", message)
	condition(database, v1.Progressing, false, "NameTaken", message)
	condition(database, v1.Degraded, true, "NameTaken", message)
}

func condition(database *v1.Database, kind string, is bool, reason, message string) {
	said := metav1.ConditionFalse
	if is {
		said = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&database.Status.Conditions, metav1.Condition{
		Type: kind, Status: said, Reason: reason, Message: message, ObservedGeneration: database.Generation,
	})
}

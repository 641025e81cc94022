// Package database keeps state: a password made once, storage that outlives the Pod, fields that cannot change.
package database

import (
	"context"
	"crypto/rand"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "converge.example/controller-runtime/api/v1"
)

// --8<-- [start:secret]

// EnsurePassword creates the Secret if there is none. It never updates: the running database knows only the first
// password, and a create that loses a race answers AlreadyExists and changes nothing.
func EnsurePassword(ctx context.Context, c client.Client, database *v1.Database) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: database.Name + "-credentials", Namespace: database.Namespace},
		StringData: map[string]string{"username": "postgres", "password": rand.Text()},
	}
	if database.Spec.DeletionPolicy == "Delete" { // with Retain the data stays, so its password must stay as well
		if err := ctrl.SetControllerReference(database, secret, c.Scheme()); err != nil {
			return err
		}
	}
	return client.IgnoreAlreadyExists(c.Create(ctx, secret))
}

// --8<-- [end:secret]

// --8<-- [start:statefulset]

// StatefulSet is what runs the database. Call EnsurePassword first: its Pods cannot start without the Secret.
func StatefulSet(database *v1.Database, image string) *appsv1.StatefulSet {
	labels := map[string]string{"app.kubernetes.io/name": database.Name}
	retention := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if database.Spec.DeletionPolicy == "Delete" {
		retention = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: database.Name, Namespace: database.Namespace, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: database.Name, // the headless Service: it gives each Pod its own DNS name
			Replicas:    database.Spec.Replicas,
			Selector:    &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:         "postgres",
					Image:        image,
					VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/postgresql/data"}},
					Env: []corev1.EnvVar{{Name: "POSTGRES_PASSWORD", ValueFrom: &corev1.EnvVarSource{
						SecretKeyRef: &corev1.SecretKeySelector{
							LocalObjectReference: corev1.LocalObjectReference{Name: database.Name + "-credentials"},
							Key:                  "password",
						},
					}}},
				}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceStorage: resource.MustParse(database.Spec.Storage.Size),
					}},
				},
			}},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: retention, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
		},
	}
}

// --8<-- [end:statefulset]

// --8<-- [start:immutable]

// Reconcile applies what can change and reports what cannot: the server refuses a change of volumeClaimTemplates.
func Reconcile(ctx context.Context, c client.Client, database *v1.Database, image string) error {
	wanted, set := StatefulSet(database, image), &appsv1.StatefulSet{}
	set.Name, set.Namespace = wanted.Name, wanted.Namespace
	refused := false
	_, err := controllerutil.CreateOrUpdate(ctx, c, set, func() error {
		if set.CreationTimestamp.IsZero() {
			wanted.DeepCopyInto(set)
		} else {
			claims := set.Spec.VolumeClaimTemplates
			refused = len(claims) != 1 || !claims[0].Spec.Resources.Requests.Storage().Equal(
				*wanted.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage())
			set.Spec.Replicas = wanted.Spec.Replicas
			set.Spec.PersistentVolumeClaimRetentionPolicy = wanted.Spec.PersistentVolumeClaimRetentionPolicy
			set.Spec.Template.Spec.Containers[0].Image = image
		}
		return ctrl.SetControllerReference(database, set, c.Scheme())
	})
	degraded := metav1.Condition{
		Type: v1.Degraded, Status: metav1.ConditionFalse, Reason: "AsWished", ObservedGeneration: database.Generation,
	}
	if refused {
		degraded.Status, degraded.Reason = metav1.ConditionTrue, "StorageIsFixed"
		degraded.Message = "storage cannot change once the Database exists; all else was applied"
	}
	if err == nil && meta.SetStatusCondition(&database.Status.Conditions, degraded) {
		err = c.Status().Update(ctx, database)
	}
	return err
}

// --8<-- [end:immutable]

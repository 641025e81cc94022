package children

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "converge.example/go/api/v1"
)

const postgres = 5432 // the port

// DatabaseSelector names the Pods of a Database. It never changes.
func DatabaseSelector(database *v1.Database) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "database", "app.kubernetes.io/instance": database.Name}
}

// DatabaseLabels are those of every child of a Database.
func DatabaseLabels(database *v1.Database) map[string]string {
	labels := DatabaseSelector(database)
	labels["app.kubernetes.io/managed-by"] = "database-operator"
	return labels
}

// DatabaseService has no address of its own: it gives each Pod a name, NAME-0.NAME.NAMESPACE.svc.
func DatabaseService(database *v1.Database) *corev1apply.ServiceApplyConfiguration {
	port := corev1apply.ServicePort().WithName("postgres").WithPort(postgres).WithProtocol(corev1.ProtocolTCP).
		WithTargetPort(intstr.FromString("postgres"))
	return corev1apply.Service(database.Name, database.Namespace).
		WithLabels(DatabaseLabels(database)).
		WithSpec(corev1apply.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).WithSelector(DatabaseSelector(database)).WithPorts(port))
}

// DatabaseConfig is the file that the server reads when it starts.
func DatabaseConfig(database *v1.Database) *corev1apply.ConfigMapApplyConfiguration {
	parameters := map[string]string{"listen_addresses": "*"}
	maps.Copy(parameters, database.Spec.Parameters)
	lines := ""
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		lines += fmt.Sprintf("%s = '%s'\n", name, strings.ReplaceAll(parameters[name], "'", "''"))
	}
	return corev1apply.ConfigMap(database.Name+"-config", database.Namespace).
		WithLabels(DatabaseLabels(database)).
		WithData(map[string]string{"postgresql.conf": lines})
}

// Checksum differs when the configuration differs. On the Pods' template it makes new Pods for a new configuration.
func Checksum(config *corev1apply.ConfigMapApplyConfiguration) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(config.Data["postgresql.conf"])))[:16]
}

// DatabasePod is one server: its image, its password, its files on the volume data, its probes.
func DatabasePod(database *v1.Database) *corev1apply.PodSpecApplyConfiguration {
	answers := func() *corev1apply.ProbeApplyConfiguration {
		return corev1apply.Probe().
			WithExec(corev1apply.ExecAction().WithCommand("pg_isready", "-U", "postgres", "-h", "127.0.0.1"))
	}
	password := corev1apply.SecretKeySelector().WithName(database.Name + "-credentials").WithKey("password")
	server := corev1apply.Container().
		WithName("postgres").
		WithImage(cmp.Or(os.Getenv("POSTGRES_IMAGE"), "docker.io/library/postgres")+":"+database.Spec.Version).
		WithArgs("-c", "config_file=/etc/postgresql/postgresql.conf").
		WithEnv(
			corev1apply.EnvVar().WithName("POSTGRES_PASSWORD").
				WithValueFrom(corev1apply.EnvVarSource().WithSecretKeyRef(password)),
			corev1apply.EnvVar().WithName("PGDATA").WithValue("/var/lib/postgresql/data/files"),
		).
		WithPorts(corev1apply.ContainerPort().
			WithName("postgres").WithContainerPort(postgres).WithProtocol(corev1.ProtocolTCP)).
		WithStartupProbe(answers().WithPeriodSeconds(2).WithFailureThreshold(150)).
		WithReadinessProbe(answers().WithPeriodSeconds(5)).
		WithLivenessProbe(corev1apply.Probe().WithPeriodSeconds(20).
			WithTCPSocket(corev1apply.TCPSocketAction().WithPort(intstr.FromString("postgres")))).
		WithVolumeMounts(
			corev1apply.VolumeMount().WithName("data").WithMountPath("/var/lib/postgresql/data"),
			corev1apply.VolumeMount().WithName("config").WithMountPath("/etc/postgresql"),
		)
	config := corev1apply.ConfigMapVolumeSource().WithName(database.Name + "-config")
	return corev1apply.PodSpec().
		WithContainers(server).
		WithVolumes(corev1apply.Volume().WithName("config").WithConfigMap(config))
}

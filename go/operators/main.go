// Command operators runs the operator of a lesson's Go tab, so that the checks of its lab can grade it.
//
//	operators -lesson 09_status -n default
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/go/api/v1"
	loop "converge.example/go/lessons/01_loop"
	idempotency "converge.example/go/lessons/06_idempotency"
	drift "converge.example/go/lessons/07_drift"
	owner "converge.example/go/lessons/08_owner_references"
	status "converge.example/go/lessons/09_status"
	conflicts "converge.example/go/lessons/10_conflicts"
	requeue "converge.example/go/lessons/11_requeue"
	finalizers "converge.example/go/lessons/12_finalizers"
	database "converge.example/go/lessons/14_database"
	chaos "converge.example/go/lessons/15_chaos"
	"converge.example/go/records"
)

// A lesson is how its operator is set up, and whether it reads from the manager's caches. Most ask the server, as their
// labs in Python do.
type lesson struct {
	setup  func(ctrl.Manager) error
	cached bool
}

var lessons = map[string]lesson{
	"01_loop": {setup: func(m ctrl.Manager) error {
		return byName(m, &loop.Reconciler{Client: m.GetClient()}, &appsv1.Deployment{})
	}},
	"06_idempotency": {setup: func(m ctrl.Manager) error {
		return byName(m, &idempotency.Reconciler{Client: m.GetClient()})
	}},
	"07_drift": {setup: func(m ctrl.Manager) error {
		return byName(m, &drift.Reconciler{Client: m.GetClient()}, &appsv1.Deployment{}, &corev1.Service{})
	}},
	"08_owner_references": {setup: func(m ctrl.Manager) error {
		return owner.Setup(m, &owner.Reconciler{Client: m.GetClient(), Events: events(m)}, controller.Options{})
	}},
	"09_status": {setup: func(m ctrl.Manager) error { return owner.Setup(m, children(m), controller.Options{}) }},
	"10_conflicts": {setup: func(m ctrl.Manager) error {
		return byName(m, &conflicts.Reconciler{Client: m.GetClient()})
	}},
	"11_requeue": {setup: func(m ctrl.Manager) error {
		outside, period := records.New(seconds("TIMEOUT", 3)), seconds("PERIOD", 30)
		reconciler := &requeue.Reconciler{Client: m.GetClient(), Records: outside, Period: period}
		return requeue.Setup(m, reconciler, seconds("BACKOFF_BASE", 1), seconds("BACKOFF_CAP", 300))
	}},
	"12_finalizers": {setup: func(m ctrl.Manager) error {
		outside := records.New(3 * time.Second)
		reconciler := &finalizers.Reconciler{Client: m.GetClient(), Children: children(m), Records: outside}
		return owner.Setup(m, reconciler, controller.Options{})
	}},
	"14_database": {setup: func(m ctrl.Manager) error { return database.Setup(m) }},
	"15_chaos": {cached: true, setup: func(m ctrl.Manager) error {
		return owner.Setup(m, &chaos.Reconciler{Client: m.GetClient()}, controller.Options{})
	}},
}

func children(manager ctrl.Manager) reconcile.Reconciler {
	return &status.Reconciler{Client: manager.GetClient(), Events: events(manager)}
}

// byName reconciles a WebApp when it changes, and when a child of the same name does.
func byName(manager ctrl.Manager, reconciler reconcile.Reconciler, kinds ...client.Object) error {
	builder := ctrl.NewControllerManagedBy(manager).For(&v1.WebApp{})
	for _, kind := range kinds {
		builder = builder.Watches(kind, &handler.EnqueueRequestForObject{})
	}
	return builder.Complete(reconciler)
}

func events(manager ctrl.Manager) clientevents.EventRecorder {
	return manager.GetEventRecorder("webapp-operator")
}

func seconds(variable string, otherwise float64) time.Duration {
	if said, err := strconv.ParseFloat(os.Getenv(variable), 64); err == nil {
		otherwise = said
	}
	return time.Duration(otherwise * float64(time.Second))
}

func run(name, namespace string) error {
	chosen, known := lessons[name]
	if !known {
		return fmt.Errorf("there is no operator for lesson %q", name)
	}
	options := ctrl.Options{
		Scheme:  v1.Scheme(),
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	}
	if !chosen.cached {
		options.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{
			&v1.WebApp{}, &v1.Database{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &corev1.Service{}, &corev1.Secret{},
			&corev1.ConfigMap{}, &corev1.PersistentVolumeClaim{},
		}}
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	if err != nil {
		return err
	}
	if err := chosen.setup(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	name := flag.String("lesson", "", "whose operator to run, such as 09_status")
	namespace := flag.String("n", "default", "the namespace to work in")
	flag.Parse() // --kubeconfig is registered by controller-runtime
	lines := slog.NewTextHandler(os.Stderr, nil)
	klog.SetSlogLogger(slog.New(lines))
	ctrl.SetLogger(logr.FromSlogHandler(lines))
	if err := run(*name, *namespace); err != nil {
		slog.New(lines).Error("the operator ended", "error", err)
		os.Exit(1)
	}
}

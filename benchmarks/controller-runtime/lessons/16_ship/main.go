// Command ship runs an operator as a Pod should run: one active replica, probes, metrics, a clean stop.
package main

import (
	"os"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "converge.example/controller-runtime/api/v1"
	loop "converge.example/controller-runtime/lessons/01_loop"
	owner "converge.example/controller-runtime/lessons/08_owner_references"
)

// --8<-- [start:main]

func run() error {
	grace := 10 * time.Second
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                        v1.Scheme(),
		LeaderElection:                true,
		LeaderElectionID:              "webapp-operator",
		LeaderElectionReleaseOnCancel: true, // hand over at once on SIGTERM; safe because main ends when Start returns
		GracefulShutdownTimeout:       &grace,
		HealthProbeBindAddress:        ":8081",
		Metrics:                       metricsserver.Options{BindAddress: ":8080"},
	})
	if err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("ready", healthz.Ping); err != nil {
		return err
	}
	if err := owner.Setup(manager, &loop.Reconciler{Client: manager.GetClient()}); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler()) // blocks until SIGTERM or until the lease is lost
}

// --8<-- [end:main]

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(); err != nil {
		klog.ErrorS(err, "the operator ended")
		os.Exit(1)
	}
}

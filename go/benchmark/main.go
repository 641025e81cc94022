// Command benchmark is the benchmark's WebApp operator on controller-runtime: what a competent team would ship.
//
// Reads come from caches, writes happen on a difference, nothing is throttled at the client (controller-runtime's default) and
// several keys are worked on at once, as in the two Python operators that it is compared with (benchmarks/operators).
package main

import (
	"flag"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "converge.example/go/api/v1"
)

func run(namespace string, workers int) error {
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:  v1.Scheme(),
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := (&Reconciler{Client: manager.GetClient()}).Setup(manager, workers); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	namespace := flag.String("n", "", "the namespace to work in; all of them when empty")
	workers := flag.Int("workers", 8, "how many keys are worked on at once")
	flag.Parse() // --kubeconfig is registered by controller-runtime
	ctrl.SetLogger(klog.Background())
	if err := run(*namespace, *workers); err != nil {
		klog.ErrorS(err, "the operator ended")
		os.Exit(1)
	}
}

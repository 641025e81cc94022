// Command ship runs an operator as a Pod should run: one active replica, probes, metrics, a clean stop.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "converge.example/go/api/v1"
	owner "converge.example/go/lessons/08_owner_references"
	status "converge.example/go/lessons/09_status"
	finalizers "converge.example/go/lessons/12_finalizers"
	"converge.example/go/records"
)

// --8<-- [start:main]

func run(ctx context.Context) error {
	seconds, err := strconv.ParseFloat(cmp.Or(os.Getenv("LEASE_SECONDS"), "15"), 64)
	if err != nil {
		return err
	}
	lease := time.Duration(seconds * float64(time.Second))
	deadline, retry := lease*2/3, min(lease*2/15, 2*time.Second) // a leader stops before anyone else may begin
	config, namespace := ctrl.GetConfigOrDie(), os.Getenv("POD_NAMESPACE")
	lock, err := resourcelock.NewFromKubeconfig(
		resourcelock.LeasesResourceLock, namespace, "webapp-operator", // one Lease for all
		resourcelock.ResourceLockConfig{Identity: os.Getenv("POD_NAME")}, config, deadline, // and for each its own name
	)
	if err != nil {
		return err
	}
	leader, ready, forever := &election{Interface: lock, deadline: deadline}, &readiness{}, time.Duration(-1)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              v1.Scheme(),
		Cache:                               cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: leader,
		LeaderElectionReleaseOnCancel:       true, // hand over on SIGTERM, once nothing acts anymore
		LeaseDuration:                       &lease,
		RenewDeadline:                       &deadline,
		RetryPeriod:                         &retry,
		GracefulShutdownTimeout:             &forever, // after any other time it would give the Lease back as well
		Metrics: metricsserver.Options{BindAddress: ":" + os.Getenv("PORT"), ExtraHandlers: map[string]http.Handler{
			"/healthz": http.StripPrefix("/healthz", &healthz.Handler{}),
			"/readyz":  http.StripPrefix("/readyz", ready.handler()),
		}},
	})
	if err != nil {
		return err
	}
	// Asked for here, the caches are filled before the election, so a replica that waits knows the actual state.
	for _, kind := range []client.Object{&v1.WebApp{}, &appsv1.Deployment{}, &corev1.Service{}} {
		informer, err := manager.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		ready.informers = append(ready.informers, informer)
	}
	if err := setup(manager, leader); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { // SIGTERM: a pass in hand has ten seconds; after that the Lease runs out by itself
		time.AfterFunc(10*time.Second, func() { os.Exit(1) })
	})
	return manager.Start(ctx) // blocks until SIGTERM, or returns an error when the Lease is lost
}

// readiness answers whether every cache has been filled. It doesn't ask who leads.
type readiness struct{ informers []cache.Informer }

func (r *readiness) handler() http.Handler {
	return &healthz.Handler{Checks: map[string]healthz.Checker{"caches": func(*http.Request) error {
		for _, informer := range r.informers {
			if !informer.HasSynced() {
				return fmt.Errorf("the caches are not filled yet")
			}
		}
		return nil
	}}}
}

// --8<-- [end:main]

// --8<-- [start:election]

// An election is the Lease. It remembers when we renewed it.
type election struct {
	resourcelock.Interface
	deadline time.Duration
	renewed  atomic.Pointer[time.Time]
}

func (e *election) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.remember(time.Now(), e.Interface.Create(ctx, record))
}

func (e *election) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.remember(time.Now(), e.Interface.Update(ctx, record))
}

func (e *election) remember(asked time.Time, err error) error {
	if err == nil {
		e.renewed.Store(&asked)
	}
	return err
}

// guard asks the clock before each pass: after a long sleep we don't know yet that we no longer lead. And it lets a pass
// in hand finish after SIGTERM, which ends ctx, but begins no other.
func (e *election) guard(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		if renewed := e.renewed.Load(); renewed == nil || time.Since(*renewed) > e.deadline {
			return ctrl.Result{}, errors.New("the Lease may have another holder by now")
		}
		if ctx.Err() != nil {
			return ctrl.Result{}, ctx.Err()
		}
		return next.Reconcile(context.WithoutCancel(ctx), request)
	})
}

// --8<-- [end:election]

// setup is the operator of lesson 12, behind the guard.
func setup(manager ctrl.Manager, leader *election) error {
	children := &status.Reconciler{Client: manager.GetClient(), Events: manager.GetEventRecorder("webapp-operator")}
	reconciler := &finalizers.Reconciler{
		Client: manager.GetClient(), Children: children, Records: records.New(3 * time.Second),
	}
	return owner.Setup(manager, leader.guard(reconciler), controller.Options{})
}

func main() {
	lines := slog.NewJSONHandler(os.Stderr, nil)
	klog.SetSlogLogger(slog.New(lines))
	ctrl.SetLogger(logr.FromSlogHandler(lines))
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		slog.New(lines).Error("the operator ended", "error", err)
		os.Exit(1)
	}
}

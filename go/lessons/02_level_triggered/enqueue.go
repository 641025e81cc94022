// Package leveltriggered shows where the event is thrown away: before the queue.
package leveltriggered

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// --8<-- [start:enqueue]

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// requestFor keeps the name and nothing else. reconcile.Request has no field in which an event could travel.
func requestFor(object client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
}

// Enqueue answers every event alike: look at this object again.
// It does by hand what handler.EnqueueRequestForObject does.
var Enqueue = handler.Funcs{
	CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { q.Add(requestFor(e.Object)) },
	UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { q.Add(requestFor(e.ObjectNew)) },
	DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { q.Add(requestFor(e.Object)) },
}

// --8<-- [end:enqueue]

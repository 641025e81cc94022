// Package queue uses client-go's work queue: keys that collapse, one worker a key, delays and backoff.
package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// --8<-- [start:new]

// New makes a queue that waits 5 ms after a key's first failure and twice as long after each further one.
func New() workqueue.TypedRateLimitingInterface[string] {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second)
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		backoff, workqueue.TypedRateLimitingQueueConfig[string]{Name: "webapps"},
	)
}

// --8<-- [end:new]

// --8<-- [start:worker]

// Worker takes keys until the queue is shut down.
func Worker(queue workqueue.TypedRateLimitingInterface[string], process func(key string) error) {
	for {
		key, shutdown := queue.Get() // blocks; from now on no other worker gets this key
		if shutdown {
			return
		}
		if err := process(key); err != nil {
			queue.AddRateLimited(key) // again, later each time
		} else {
			queue.Forget(key) // the next failure starts from 5 ms
		}
		queue.Done(key) // if the key was added meanwhile, it comes again now
	}
}

// --8<-- [end:worker]

"""A small controller-runtime: what operators are written with.

In order of use: `Client` reads and writes objects, `Informer` keeps a cache of them, `WorkQueue` holds the
keys to look at, `Controller` calls a reconciler for each key, and `Manager` starts and stops it all.
It knows nothing of the course: an operator written with it runs anywhere.
"""

from converge.runtime.api.client import Client, Object, ObjectList
from converge.runtime.api.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    ConfigError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    RuntimeProblem,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnknownKind,
)
from converge.runtime.api.ownership import applied_fields
from converge.runtime.api.watch import Watch, WatchEvent
from converge.runtime.controller import Controller
from converge.runtime.events import EventRecorder
from converge.runtime.informers.informer import Change, Informer
from converge.runtime.informers.predicates import annotations_changed, any_of, generation_changed, labels_changed
from converge.runtime.leader import LeaderElection
from converge.runtime.manager import Manager
from converge.runtime.poll import Poll
from converge.runtime.queue.backoff import Backoff
from converge.runtime.queue.bucket import TokenBucket
from converge.runtime.queue.workqueue import WorkQueue
from converge.runtime.reconcile import Reconciler, Request, Result, TerminalError

__all__ = [
    "AlreadyExists",
    "ApiError",
    "Backoff",
    "BadRequest",
    "Change",
    "Client",
    "ConfigError",
    "Conflict",
    "Controller",
    "EventRecorder",
    "Forbidden",
    "Gone",
    "Informer",
    "Invalid",
    "LeaderElection",
    "Manager",
    "NotFound",
    "Object",
    "ObjectList",
    "Poll",
    "Reconciler",
    "Request",
    "Result",
    "RuntimeProblem",
    "TerminalError",
    "Timeout",
    "TokenBucket",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "UnknownKind",
    "Watch",
    "WatchEvent",
    "WorkQueue",
    "annotations_changed",
    "any_of",
    "applied_fields",
    "generation_changed",
    "labels_changed",
]

"""A right answer of another kind: a lock around the cache, objects as JSON text, one loop in small steps."""

import json
import logging
import threading

from converge.runtime import ApiError, Gone, Request

log = logging.getLogger(__name__)


def itself(obj):
    return [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])]


class Informer:
    def __init__(self, client, api_version, kind, namespace):
        self._client, self._kind, self._namespace = client, (api_version, kind), namespace
        self._texts = {}  # text cannot be changed by a reader, and is a copy by nature
        self._version, self._versions = "", {}
        self._lock = threading.RLock()
        self._handlers = []
        self._listed = False
        self._stop = threading.Event()
        self._open = None

    def add_handler(self, handler, keys=itself):
        self._handlers.append((handler, keys))

    def has_synced(self):
        with self._lock:
            return self._listed

    def start(self):
        threading.Thread(target=self.run, daemon=True).start()

    def stop(self):
        self._stop.set()
        with self._lock:
            if self._open is not None:
                self._open.close()

    def get(self, request):
        with self._lock:
            text = self._texts.get(Request(*request))
        return None if text is None else json.loads(text)

    def list(self):
        with self._lock:
            texts = list(self._texts.values())
        return [json.loads(text) for text in texts]

    def run(self):
        failures = 0
        while not self._stop.is_set():
            try:
                self._version = self._version or self._fill()
                self._follow()
                failures = 0
            except Gone:
                self._version = ""
            except ApiError:
                failures += 1
            self._stop.wait(min(0.05 * 2**failures, 1.0))

    def _fill(self):
        listing = self._client.list(*self._kind, namespace=self._namespace, page_size=2)
        found = {itself(obj)[0]: obj for obj in listing}
        with self._lock:
            missing = [self.get(key) for key in self._texts if key not in found]
            changed = [
                obj for key, obj in found.items() if self._versions.get(key) != obj["metadata"]["resourceVersion"]
            ]
            self._texts = {key: json.dumps(obj) for key, obj in found.items()}
            self._versions = {key: obj["metadata"]["resourceVersion"] for key, obj in found.items()}
            self._listed = True
        for obj in missing + changed:
            self._tell(obj)
        return listing.resource_version

    def _follow(self):
        with self._client.watch(
            *self._kind, namespace=self._namespace, resource_version=self._version, bookmarks=True, timeout=300
        ) as events:
            with self._lock:
                self._open = events
            if self._stop.is_set():
                return
            for kind, obj in events:
                version = self._version = obj["metadata"]["resourceVersion"]
                if kind in ("ADDED", "MODIFIED", "DELETED"):
                    self._store(kind, obj, version)
                    self._tell(obj)

    def _store(self, kind, obj, version):
        key = itself(obj)[0]
        with self._lock:
            if kind == "DELETED":
                self._texts.pop(key, None)
                self._versions.pop(key, None)
            else:
                self._texts[key], self._versions[key] = json.dumps(obj), version

    def _tell(self, obj):
        for handler, keys in self._handlers:
            try:
                for request in keys(obj):
                    handler(request)
            except Exception:
                log.exception("a handler failed")

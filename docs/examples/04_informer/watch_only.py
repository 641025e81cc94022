"""What many examples call an informer: a watch in a loop, and a dict. Lesson 04 shows what the grader says to it."""

import threading

from converge.runtime import Request


class Informer:
    def __init__(self, client, api_version, kind, namespace):
        self.client, self.what = client, (api_version, kind, namespace)
        self.objects, self.handlers = {}, []
        self.stopping = threading.Event()
        self.watch = None

    def add_handler(self, handler, keys=lambda obj: [Request(obj["metadata"]["namespace"], obj["metadata"]["name"])]):
        self.handlers.append((handler, keys))

    def has_synced(self):
        return self.watch is not None

    def get(self, request):
        return self.objects.get(request.name)

    def list(self):
        return list(self.objects.values())

    def stop(self):
        self.stopping.set()
        self.watch.close()

    # --8<-- [start:run]
    def run(self):
        while not self.stopping.is_set():
            try:
                self.watch = self.client.watch(*self.what)  # no version: whatever exists comes first, as ADDED
                for event in self.watch:
                    name = event.object["metadata"]["name"]
                    if event.type == "DELETED":
                        self.objects.pop(name, None)
                    else:
                        self.objects[name] = event.object
                    for handler, keys in self.handlers:
                        for request in keys(event.object):
                            handler(request)
            except Exception as error:
                print(f"will try again: {error}")
                self.stopping.wait(0.2)

    # --8<-- [end:run]

"""A reader who changes what it was given. It runs in the submission's process, where the objects are."""

from typing import Any


def careless_reader(informer: Any, request: Any) -> None:
    """Get an object from the cache and change it; being refused is fine, too."""
    obj = informer.get(request) or {"spec": {}}
    for inside, change in (
        (obj["spec"], {"replicas": -1}),
        (obj["spec"], {"labels": {"careless": "reader"}}),
        (obj, {"spec": {}}),
    ):
        try:
            inside.update(change)
        except (TypeError, AttributeError):
            continue  # a cache that hands out what cannot be changed is as good as one that hands out copies

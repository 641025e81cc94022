"""A WebApp operator as kopf's introduction would have it: one handler for the creation, one for the changes.

Lesson 13 shows what it misses.
"""

from typing import Any

import kopf

from converge.operators.webapp import desired_children
from converge.runtime import Client

WEBAPP = ("converge.example", "v1", "webapps")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.scanning.disabled = True
    memo.client = Client()


# --8<-- [start:handlers]
@kopf.on.create(*WEBAPP)
def created(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """The WebApp is new: make its children."""
    for child in desired_children(dict(body)):
        kopf.adopt(child)
        memo.client.create(child)


@kopf.on.update(*WEBAPP, field="spec")
def updated(body: kopf.Body, namespace: str, name: str, memo: kopf.Memo, **_: Any) -> None:
    """The spec has changed: change the children."""
    for child in desired_children(dict(body)):
        memo.client.patch(child["apiVersion"], child["kind"], name, namespace, child, type="strategic")


# --8<-- [end:handlers]

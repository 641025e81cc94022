"""The outside service in a check: hosts, their records, and what the service was asked."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.operators.outside_service import Outside
    from converge.testing.objects.custom_resource import CustomResource


def new_host(below: str = "example.com") -> str:
    """A host name that was never used before."""
    return f"{secrets.token_hex(4)}.{below}"


def record_owner(outside: Outside, host: str) -> object:
    """The owner in the record of a host; None if there is no such record."""
    value = outside.records.get(host)
    return value.get("owner") if isinstance(value, dict) else value


def hosts_of(outside: Outside, app: CustomResource) -> list[str]:
    """The hosts that are registered for a WebApp."""
    return sorted(host for host in list(outside.records) if record_owner(outside, host) == app.uid)


def has_record(outside: Outside, app: CustomResource, host: str, *, when: str, hint: str = "") -> None:
    """Wait until the host is registered for the WebApp."""
    eventually(
        lambda: record_owner(outside, host),
        app.uid,
        when=when,
        expected=f'a record of {host} with {{"owner": {app.uid!r}}}, the uid of {app}',
        hint=hint or "PUT the host of `spec.register`, with the WebApp's uid as its owner.",
        seen=lambda: requests_seen(outside),
    )


def requests_seen(outside: Outside) -> list[str]:
    """The last requests that the service got, as evidence."""
    return ["the outside service was asked:\n" + ("\n".join(map(str, outside.requests[-6:])) or "nothing")]

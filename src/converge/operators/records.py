"""A client of the outside service of lessons 11 and 12: DNS-like records, kept at $OUTSIDE_URL.

What the service refuses is raised as it comes from the standard library: `urllib.error.HTTPError`, with its ``code``.
So is a service that cannot be reached or does not answer in time.
"""

import json
import os
import urllib.request
from typing import Any

NO_URL = "OUTSIDE_URL is not set: start the service with `converge outside`, and export the address that it prints"


class Records:
    """The records of the outside service, by host name.

    Args:
        url: of the service; by default what $OUTSIDE_URL says at the moment of the first request.
        timeout: seconds that an answer may take.
    """

    def __init__(self, url: str | None = None, timeout: float = 3.0) -> None:
        self._url = url
        self._timeout = timeout

    def all(self) -> dict[str, Any]:
        """Every record that there is, no matter who made it."""
        found: dict[str, Any] = self._ask("GET", "")
        return found

    def get(self, host: str) -> Any:
        """The record of a host; 404 if there is none."""
        return self._ask("GET", f"/{host}")

    def put(self, host: str, value: Any) -> None:
        """Make the record of a host, or write over the one that is there."""
        self._ask("PUT", f"/{host}", value)

    def delete(self, host: str) -> None:
        """Remove the record of a host; 404 if there is none."""
        self._ask("DELETE", f"/{host}")

    def _ask(self, method: str, path: str, value: Any = None) -> Any:
        body = None if value is None else json.dumps(value).encode()
        url = self._url or os.environ.get("OUTSIDE_URL")
        if not url:
            raise RuntimeError(NO_URL)
        request = urllib.request.Request(f"{url}/records{path}", data=body, method=method)
        with urllib.request.urlopen(request, timeout=self._timeout) as answer:
            text = answer.read()
        return json.loads(text) if text else None

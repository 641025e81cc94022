"""One HTTP request to the API server, made to last: the pool, the credentials, and what is tried again.

What is tried again, and what is not:

- A read, or a server-side apply, whose connection broke is sent again: a server may close an idle
  connection at the moment in which it is used. Any other write is not: it may have happened.
- 429 and 503 with ``Retry-After`` are waited for, as client-go does: the server has not acted on them.
- 401 makes it read the credentials again, once: tokens expire, and are rotated in files.

This module knows nothing of kinds; `client` does. Nor of tokens; `credentials` does. Nor of HTTP; `transport` does.
"""

import copy
import json
import threading
import time
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from converge.runtime.api.config import load_config
from converge.runtime.api.credentials import Credentials
from converge.runtime.api.errors import ApiError, Timeout, Unavailable, error_from_response
from converge.runtime.api.official import official
from converge.runtime.api.transport import NotConnectedError, Transport

_BROKEN_CONNECTION_TRIES = 3
_RETRY_AFTER_TRIES = 10
_POOL_SIZE = 64  # idle connections kept; more may be open at once

_to_json = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps would make an encoder for each request


class Connection:
    """Sends requests to one API server. Safe to use from many threads."""

    def __init__(
        self,
        kubeconfig: Any = None,
        context: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        user_agent: str = "converge-runtime",
    ) -> None:
        import urllib3  # here, so that importing this package stays quick

        self._errors = urllib3.exceptions
        self._make_timeout = urllib3.Timeout
        self._origin = (kubeconfig, context)
        self._config = load_config(kubeconfig, context)
        self._timeout = urllib3.Timeout(connect=min(timeout, 10.0), read=timeout)
        self._patience = patience
        self._user_agent = user_agent
        self._closed = threading.Event()
        self._credentials = Credentials(self._config)
        self._open_pool()
        self._counting = threading.Lock()
        #: Requests answered so far, by (method, status); for metrics.
        self.answered: dict[tuple[str, int], int] = {}

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return str(self._config.configuration.host)

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of the Pod."""
        return self._config.namespace

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        asked: str,
        body: Any = None,
        content_type: str = "application/json",
        repeatable: bool | None = None,
    ) -> Any:
        """Send one request and return the parsed answer; raise an `ApiError` that begins with ``asked``."""
        data = None if body is None else _to_json(body).encode()
        response = self._send(
            method, path, query, asked, data, content_type, method == "GET" if repeatable is None else repeatable
        )
        try:
            return json.loads(response.data)
        except ValueError:
            raise ApiError(asked, "the answer is not JSON", status=response.status) from None

    def stream(self, path: str, query: Mapping[str, Any], *, asked: str, read_timeout: float | None) -> Any:
        """Open a streaming GET; returns the answer, whose body is read with its ``stream``."""
        timeout = self._make_timeout(connect=self._timeout.connect_timeout, read=read_timeout)
        return self._send("GET", path, query, asked, None, "", True, timeout=timeout, preload_content=False)

    def with_timeout(self, seconds: float) -> Self:
        """The same connection for requests that must have an answer sooner."""
        other = copy.copy(self)
        other._timeout = self._make_timeout(connect=seconds, read=seconds)
        other._patience = seconds
        return other

    def close(self) -> None:
        """Close idle connections and stop waiting for busy servers. Requests may still be made."""
        self._closed.set()
        self._manager.clear()
        if self._transport is not None:
            self._transport.close()

    def _open_pool(self) -> None:
        configuration = self._config.configuration
        configuration.keep_alive = True
        configuration.connection_pool_maxsize = _POOL_SIZE
        self._manager = official().rest_client(configuration).pool_manager
        self._base_path = urlsplit(configuration.host).path.rstrip("/")
        # Straight to the host. A request through a proxy needs the manager, which knows whether the proxy wants the
        # whole URL.
        self._transport: Transport | None = None
        if getattr(self._manager, "proxy", None) is None:
            self._transport = Transport(self._manager.connection_from_url(configuration.host), _POOL_SIZE)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        asked: str,
        data: bytes | None,
        content_type: str,
        repeatable: bool,
        **options: Any,
    ) -> Any:
        url = self._base_path + path
        if query:
            url = f"{url}?{urlencode(query)}"
        options.setdefault("timeout", self._timeout)
        broken, waits, renewed = 0, 0, False
        give_up_at = time.monotonic() + self._patience
        while True:
            authorization = self._credentials.header()
            try:
                response = self._exchange(method, url, data, content_type, authorization, options)
            except NotConnectedError as error:
                raise self._no_answer(asked, error) from error
            except (self._errors.ProtocolError, self._errors.ReadTimeoutError, OSError) as error:
                broken += 1
                may_repeat = repeatable and not isinstance(error, self._errors.ReadTimeoutError | TimeoutError)
                if may_repeat and broken < _BROKEN_CONNECTION_TRIES:
                    continue
                raise self._no_answer(asked, error) from error
            except self._errors.HTTPError as error:
                raise self._no_answer(asked, error) from error
            status = response.status
            with self._counting:
                self.answered[method, status] = self.answered.get((method, status), 0) + 1
            if status < 400:
                return response
            if status == 401 and not renewed and self._renew(authorization):
                renewed = True
                continue
            retry_after = _retry_after(response.headers)
            if status in (429, 503) and retry_after is not None and waits < _RETRY_AFTER_TRIES:
                waits += 1
                in_time = time.monotonic() + retry_after <= give_up_at
                if in_time and not self._closed.wait(retry_after):
                    continue
            raise error_from_response(asked, status, response.data, retry_after=retry_after)

    def _exchange(
        self,
        method: str,
        url: str,
        data: bytes | None,
        content_type: str,
        authorization: str | None,
        options: Mapping[str, Any],
    ) -> Any:
        headers = {"Accept": "application/json", "User-Agent": self._user_agent}
        if data is not None:
            headers["Content-Type"] = content_type
        if authorization:
            headers["Authorization"] = authorization
        if self._transport is not None:
            connect, read = options["timeout"].connect_timeout, options["timeout"].read_timeout
            if options.get("preload_content", True):
                return self._transport.request(method, url, headers, data, connect, read)
            return self._transport.stream(url, headers, connect, read)
        origin = self.server.removesuffix(self._base_path)
        return self._manager.urlopen(
            method, origin + url, body=data, headers=headers, retries=False, redirect=False, **options
        )

    def _no_answer(self, asked: str, error: Exception) -> ApiError:
        """The error for a request to which there was no answer, without urllib3's innards."""
        if isinstance(error, self._errors.ReadTimeoutError | TimeoutError):
            return Timeout(asked, f"no answer from {self.server} in time")
        if isinstance(error, NotConnectedError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        if isinstance(error, self._errors.ConnectTimeoutError) and not isinstance(
            error, self._errors.NewConnectionError
        ):
            return Unavailable(asked, f"{self.server} does not answer (connection timed out)")
        cause = error.__cause__ or error.__context__ or error
        while isinstance(cause, self._errors.HTTPError) and cause.args and isinstance(cause.args[-1], Exception):
            cause = cause.args[-1]
        return Unavailable(asked, f"no answer from {self.server}: {cause}")

    def _renew(self, refused: str | None) -> bool:
        """Read the credentials again; whether a request that was refused is worth sending again."""
        if not self._credentials.renew(refused, lambda: load_config(*self._origin)):
            return False
        if self._credentials.config is not self._config:
            self._config = self._credentials.config
            self._open_pool()
        return True


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The ``Retry-After`` header in seconds; the API server never sends the form with a date."""
    try:
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None

"""What probes and Prometheus ask over HTTP: ``/healthz``, ``/readyz`` and ``/metrics``."""

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from converge.runtime.api.errors import ConfigError

#: Answers with a status, a content type and a body.
Page = Callable[[], tuple[int, str, bytes]]


class HealthServer:
    """A small HTTP server on a thread of its own.

    Args:
        port: 0 for any that is free.
        host: the address to listen on; probes of a kubelet come from outside the Pod, and need 0.0.0.0.
    """

    def __init__(self, port: int, pages: dict[str, Page], host: str = "127.0.0.1") -> None:
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(pages))
        except OSError as error:
            raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        self._server.daemon_threads = True
        #: Where it listens.
        self.address: tuple[str, int] = (host, self._server.server_address[1])
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="health", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more."""
        self._stopping = True
        try:
            socket.create_connection(("127.0.0.1", self.address[1]), timeout=0.5).close()  # wakes `_serve`
        except OSError:
            pass
        self._thread.join(0.5)
        self._server.server_close()

    def _serve(self) -> None:
        # Not `serve_forever`, which wakes up twice a second to see whether it should stop.
        while not self._stopping:
            self._server.handle_request()


def _handler(pages: dict[str, Page]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            status, content_type, body = page() if page else (404, "text/plain", b"not found\n")
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Probes come every few seconds; they are no news."""

    return Handler

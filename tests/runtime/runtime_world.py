"""Small things that several tests of the runtime need."""

import contextlib
import socket
import threading
from pathlib import Path

import yaml

WEBAPP = ("converge.example/v1", "WebApp")


def write_kubeconfig(path: Path, server: str, user: dict, **cluster) -> Path:
    """A kubeconfig with one context."""
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "main",
                "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main", "namespace": "home"}}],
                "clusters": [{"name": "main", "cluster": {"server": server, **cluster}}],
                "users": [{"name": "main", "user": user}],
            }
        )
    )
    return path


def config_map(name: str, namespace: str, /, **data) -> dict:
    """A ConfigMap: the smallest object there is."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "data": data,
    }


def web_app(name: str, namespace: str, /, **spec) -> dict:
    """A WebApp of the course."""
    return {
        "apiVersion": WEBAPP[0],
        "kind": WEBAPP[1],
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"image": "registry.example/web:1", **spec},
    }


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until one side ends, then end the other."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


class Gate:
    """Passes bytes between clients and a server, TLS and all; can be shut, and can put in bytes of its own."""

    def __init__(self, server: str) -> None:
        self._scheme, _, address = server.partition("://")
        host, _, port = address.partition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._open = True
        self.url = f"{self._scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._server) if self._open else None
            except OSError:
                far = None
            if far is None:
                near.close()
                continue
            self.accepted += 1
            self._pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=pump, args=(source, sink), daemon=True).start()

    def cut(self) -> None:
        """Cut every connection; new ones are let in."""
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        self._pairs.clear()

    def shut(self) -> None:
        """Cut every connection and let no new ones in."""
        self._open = False
        self.cut()

    def open(self) -> None:
        """Let new connections in again."""
        self._open = True

    def inject(self, data: bytes) -> None:
        """Say something to every client as if the server had."""
        for near, _ in self._pairs:
            near.sendall(data)

    def __enter__(self) -> "Gate":
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()
        self._listener.close()

"""Carries connections from one address to another: a port of loopback, or a socket in a directory.

A jailed submission has a loopback of its own, so nothing it connects to is the machine's. Two relays bridge that gap,
one on each side, and meet at a socket in a directory that the submission can't see. Only the standard library.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence

MOST_CONNECTIONS = 128  # at once; one more has to wait
CHUNK = 65536

Address = tuple[str, int] | str


class Relay:
    """Listens at one address, and carries each connection to another."""

    def __init__(self, listen: Address, connect: Address) -> None:
        self._connect = connect
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._listener = socket.socket(family(listen), socket.SOCK_STREAM)
        if not isinstance(listen, str):
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(listen)
        self._listener.listen(MOST_CONNECTIONS)
        threading.Thread(target=self._accept, daemon=True, name="relay").start()

    def _accept(self) -> None:
        while True:
            self._room.acquire()
            try:
                here, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._carry, args=(here,), daemon=True, name="relay").start()

    def _carry(self, here: socket.socket) -> None:
        with contextlib.suppress(OSError), here, socket.socket(family(self._connect), socket.SOCK_STREAM) as there:
            there.connect(self._connect)
            for each in (here, there):
                if each.family != socket.AF_UNIX:
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=pump, args=(there, here), daemon=True, name="relay")
            back.start()
            pump(here, there)
            back.join()
        self._room.release()

    def close(self) -> None:
        """Stop listening. Connections end with the processes at their ends."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        self._listener.close()


def family(address: Address) -> socket.AddressFamily:
    return socket.AF_UNIX if isinstance(address, str) else socket.AF_INET


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry what arrives until its end, and pass the end on."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(CHUNK):
            sink.sendall(chunk)
    for each, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            each.shutdown(how)


def start(pairs: Sequence[tuple[Address, Address]]) -> list[Relay]:
    return [Relay(listen, connect) for listen, connect in pairs]

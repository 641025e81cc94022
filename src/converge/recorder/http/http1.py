"""HTTP/1.1 as bytes: what is forwarded, what is not, and how answers are written. No I/O."""

from dataclasses import dataclass, field
from http import HTTPStatus

from converge.recorder.http.media import accept_json

Headers = list[tuple[bytes, bytes]]

# These speak of one connection, not of the message; the recorder writes its own.
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"http2-settings",
        b"content-length",
    }
)
# Host is the server's; compressed answers could not be read; 100-continue is answered by the recorder itself.
_NOT_FORWARDED = _HOP_BY_HOP | {b"host", b"accept-encoding", b"expect"}

LAST_CHUNK = b"0\r\n\r\n"


@dataclass(slots=True)
class Message:
    """A request as it came from the operator."""

    method: str = ""
    target: str = ""
    headers: Headers = field(default_factory=list)
    body: bytes = b""
    keep_alive: bool = True
    chunked_answers: bool = True
    """False for HTTP/1.0, where a stream ends with the connection."""
    upgrade: str = ""
    """The protocol that the connection shall go on with, such as SPDY/3.1 or websocket."""

    def header(self, name: bytes) -> str:
        return header_of(self.headers, name)


@dataclass(slots=True)
class Response:
    """An answer as it came from the API server."""

    status: int = 0
    headers: Headers = field(default_factory=list)
    body: bytes = b""

    @property
    def content_type(self) -> str:
        return header_of(self.headers, b"content-type")


def header_of(headers: Headers, name: bytes) -> str:
    """The value of a header, or nothing; ``name`` in lower case."""
    for key, value in headers:
        if key.lower() == name:
            return value.decode("latin-1")
    return ""


def request_bytes(message: Message, host: bytes, target: str | None = None) -> bytes:
    """The request as it goes to the API server."""
    lines = [f"{message.method} {target or message.target} HTTP/1.1\r\nHost: ".encode("latin-1") + host]
    for name, value in message.headers:
        lower = name.lower()
        if lower in _NOT_FORWARDED:
            continue
        lines.append(name + b": " + (accept_json(value) if lower == b"accept" else value))
    if message.upgrade:
        lines.append(b"Connection: Upgrade\r\nUpgrade: " + message.upgrade.encode("latin-1"))
    if message.body or message.method in ("POST", "PUT", "PATCH"):
        lines.append(b"Content-Length: %d" % len(message.body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + message.body


def get_bytes(message: Message, host: bytes, target: str, accept: bytes = b"application/json") -> bytes:
    """A GET of the recorder's own, in the name of the operator."""
    lines = [b"GET %b HTTP/1.1" % target.encode("latin-1"), b"Host: " + host, b"Accept: " + accept]
    lines += [name + b": " + value for name, value in message.headers if _says_who(name.lower())]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def response_bytes(answer: Response, *, keep_alive: bool, head_only: bool = False) -> bytes:
    """A whole answer as it goes to the operator."""
    length = b"" if answer.status in (204, 304) else b"Content-Length: %d\r\n" % len(answer.body)
    head = _head(answer) + length + (b"\r\n" if keep_alive else b"Connection: close\r\n\r\n")
    return head if head_only else head + answer.body


def stream_head(answer: Response, *, chunked: bool) -> bytes:
    """The head of a streaming response."""
    return _head(answer) + (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"Connection: close\r\n\r\n")


def upgrade_head(answer: Response) -> bytes:
    """The server's agreement to leave HTTP."""
    protocol = header_of(answer.headers, b"upgrade").encode("latin-1")
    return _head(answer) + b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _head(answer: Response) -> bytes:
    lines = [b"HTTP/1.1 %d %b" % (answer.status, _phrase(answer.status))]
    lines += [name + b": " + value for name, value in answer.headers if name.lower() not in _HOP_BY_HOP]
    return b"\r\n".join(lines) + b"\r\n"


def _says_who(name: bytes) -> bool:
    return name == b"authorization" or name.startswith(b"impersonate-")


def _phrase(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b"Unknown"

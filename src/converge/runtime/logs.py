"""Logs that say which object they are about.

While a worker reconciles, every log record made on its thread carries the controller and the key, also those
of the reconciler and of libraries that it calls.
"""

import contextvars
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

from converge.runtime.api.errors import RuntimeProblem
from converge.runtime.reconcile import Request

#: The controller's name and the key that the current thread works on.
current_request: contextvars.ContextVar[tuple[str, Request] | None] = contextvars.ContextVar(
    "current_request", default=None
)


def configure(format: Literal["text", "json"] = "text", level: int | str = logging.INFO) -> None:
    """Send logs to standard error, as lines of text or of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_add_request)
    handler.setFormatter(_Json() if format == "json" else _Text())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # urllib3 reports each connection that it opens again; the informers say what matters.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


def log_failure(log: logging.Logger, message: str, error: Exception) -> None:
    """Log an error of a reconciler; ``message`` has one place, for what it says.

    Errors of this package say all there is to know. Others come with a traceback, which begins in the
    reconciler: the frame that called it is left out.
    """
    if isinstance(error, RuntimeProblem):
        log.error(message, error)
        return
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next
    log.error(message, f"{type(error).__name__}: {error}", exc_info=error)


def _add_request(record: logging.LogRecord) -> bool:
    if (current := current_request.get()) is not None:
        record.controller, record.key = current[0], str(current[1])
    return True


class _Text(logging.Formatter):
    """``12:00:01.250 INFO webapp default/web: message``"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03d %(levelname)s %(about)s%(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        about = [str(part) for part in (getattr(record, "controller", None), getattr(record, "key", None)) if part]
        record.about = f"{' '.join(about)}: " if about else ""
        return super().format(record)


class _Json(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "controller": getattr(record, "controller", None),
            "key": getattr(record, "key", None),
            "message": record.getMessage(),
            "error": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None})

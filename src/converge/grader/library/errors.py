"""Errors that a check's reconciler raises in the submission's process."""

from converge.runtime import TerminalError


class InvalidPortError(TerminalError):
    """A terminal error of a reconciler's own making, as reconcilers have them."""


class QuotaUsedUpError(Exception):
    """An error of a reconciler's own making that says nothing about another try."""

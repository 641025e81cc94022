"""The one error of this package: what went wrong, and what to type to fix it."""


class ClusterError(Exception):
    """A cluster or one of its programs cannot be had. ``fix`` says what a person can do about it."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what if not fix else f"{what}\n  Fix: {fix}")
        self.what = what
        self.fix = fix

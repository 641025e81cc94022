"""The one error of this package: what went wrong, and what to type to mend it."""


class ClusterError(Exception):
    """A cluster or one of its programs cannot be had. ``mend`` says what a person can do about it."""

    def __init__(self, what: str, mend: str = "") -> None:
        super().__init__(what if not mend else f"{what}\n  To mend: {mend}")
        self.what = what
        self.mend = mend

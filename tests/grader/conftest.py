"""Attack submissions are data for these tests: pytest must not go in there."""

collect_ignore = ["cheats"]

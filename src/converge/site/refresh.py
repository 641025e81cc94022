"""``python -m converge.site.refresh [NAME …]``: run the commands and checks of lessons and keep what was seen.

A NAME is a lesson (``03_workqueue``) or one entry (``03_workqueue.see-it-fail``); without one, everything is recorded.
Output is only written when it differs from before, so times alone change nothing. A timeline is always drawn again.
"""

import sys

from converge.files import course_root
from converge.site import timelines, transcripts


def main(names: list[str]) -> int:
    root = course_root()
    everything: list[transcripts.Transcript | timelines.RecordedTimeline] = [
        *transcripts.load(root),
        *timelines.load(root),
    ]
    entries = [entry for entry in everything if not names or entry.lesson in names or str(entry) in names]
    if not entries:
        print(f"nothing in {transcripts.RECIPES} is called {' or '.join(names) or 'anything'}", file=sys.stderr)
        return 1
    for entry in entries:
        before = entry.file.read_text() if entry.file.exists() else ""
        now = entry.perform()
        if before and entry.same(before, now):
            print(f"same     {entry}")
        else:
            entry.file.write_text(now)
            print(f"recorded {entry}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

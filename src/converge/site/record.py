"""``python -m converge.site.record [NAME …]``: run the commands and checks of ``docs/recorded`` and keep what was seen.

A NAME is a lesson (``03_workqueue``) or one entry (``03_workqueue.see-it-fail``); without one, everything is recorded.
Output is only written when it says something else than before, so times alone change nothing. A timeline is drawn anew.
"""

import sys

from converge.grader.course import find_root
from converge.site import recorded, timelines


def main(names: list[str]) -> int:
    root = find_root()
    everything: list[recorded.Recorded | timelines.RecordedTimeline] = [*recorded.load(root), *timelines.load(root)]
    entries = [entry for entry in everything if not names or entry.lesson in names or str(entry) in names]
    if not entries:
        print(f"nothing in {recorded.FOLDER} is called {' or '.join(names) or 'anything'}", file=sys.stderr)
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

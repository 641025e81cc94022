"""Attack 5: make every report of pytest a pass."""

import _pytest.reports
import _pytest.runner


class WorkQueue:
    """A queue that is wrong in every way."""

    def __init__(self, **options):
        self.keys = []

    def __len__(self):
        return 99

    def add(self, key):
        self.keys.append(key)

    def get(self, timeout=None):
        return "wrong"

    def done(self, key):
        pass


def always_passed(item, call):
    report = original(item, call)
    report.outcome, report.longrepr = "passed", None
    return report


original = _pytest.reports.TestReport.from_item_and_call
_pytest.reports.TestReport.from_item_and_call = staticmethod(always_passed)

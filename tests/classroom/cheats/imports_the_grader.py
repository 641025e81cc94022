"""Tries to change the grader where it is imported.

Lab: 03
Earns: nothing
May not touch: the grader
"""

import sys
import types

for name in ("session", "session.run", "session.plugin", "course.results", "report.files"):
    try:
        __import__(f"converge.grader.{name}")
        print("GOT", name)
    except ImportError:
        sys.modules[f"converge.grader.{name}"] = types.ModuleType(name)

"""Tries to use the solution of its lab.

Lab: 03
Earns: nothing
May not touch: the solutions
"""

from converge.files import package_root

exec((package_root() / "solutions" / "03_workqueue" / "workqueue.py").read_text())

"""Tries to put markup and commands into every report.

Lab: 03
Earns: nothing
May not touch: pages, tables and logs
"""


class WorkQueue:
    def __init__(self, **options):
        raise RuntimeError("<script>alert(1)</script> =cmd|' /C calc'!A0 ::error::x \x1b[2J \udcff </pre><img src=x>")

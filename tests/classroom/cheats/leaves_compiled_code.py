"""Tries to leave compiled code that the next Python takes for the grader's.

Lab: 03
Earns: nothing
May not touch: the course
"""

import pathlib
import py_compile

import converge.grader.checks.expect as it

mine = pathlib.Path.home() / "expect.py"
mine.write_text("def expect(*arguments, **more): pass\n")
for place in (it.__file__, "/usr/lib/python3/dist-packages/expect.py"):
    folder = pathlib.Path(place).parent / "__pycache__"
    try:
        folder.mkdir(exist_ok=True)
        for old in [folder / "expect.cpython-311.pyc", *folder.glob("expect.*")]:
            py_compile.compile(str(mine), cfile=str(old))
            print("GOT", old)
    except OSError:
        pass

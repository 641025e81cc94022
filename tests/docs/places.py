"""Where the course is, for the tests of its site. (Not in conftest.py: every test folder has one of that name.)"""

from pathlib import Path

ROOT = Path(__file__).parents[2]

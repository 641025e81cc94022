"""Where the course is, and how wide a desk. (Not in conftest.py: every test folder has one of that name.)"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DESK = {"width": 1280, "height": 900}

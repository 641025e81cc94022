"""Stands in for kubernetes, where it is found."""

import os

os._exit(0)

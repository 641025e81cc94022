"""Attack 1: end the process with success before anything can be asked."""

import os

os._exit(0)

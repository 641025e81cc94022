"""Tries to hand in the queue of the course's own runtime.

Lab: 03
Earns: nothing
May not touch: the answer that the runtime is
"""

from converge.runtime import WorkQueue

print("GOT", WorkQueue)

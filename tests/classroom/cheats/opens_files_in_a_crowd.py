"""Tries to use up the open files of the whole machine, each process a part of them.

Lab: 03
Earns: nothing
May not touch: files that others open
"""

import os
import resource
import signal

most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
all_open, told = os.pipe()
children = 40
for _ in range(children):
    if os.fork() == 0:
        count = 0
        try:
            while count < 20_000:
                os.open("/dev/null", os.O_RDONLY)
                count += 1
        except OSError:
            pass
        os.write(told, count.to_bytes(8, "big"))
        signal.pause()
counts = [int.from_bytes(os.read(all_open, 8), "big") for _ in range(children)]
if sum(counts) > 200_000:
    print("GOT", sum(counts))

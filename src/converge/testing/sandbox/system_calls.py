"""System calls that no submission needs, refused by the kernel: memory that belongs to no process, and odd doors.

Memory is counted per process. A memory file or a System V segment that nobody maps is nobody's, so a submission could
fill the machine with them unseen. A lease on a file makes everyone else who opens it wait for 45 seconds. The others
lead into parts of the kernel where most of its holes have been found.
"""

from __future__ import annotations

import errno
import os
import platform
import struct

REFUSED = (
    *("memfd_create", "memfd_secret", "shmget", "msgget", "semget"),
    *("io_uring_setup", "bpf", "userfaultfd", "perf_event_open", "add_key", "request_key", "keyctl"),
)
# Of each machine: how the kernel names it, its number for fcntl, and those for REFUSED, in that order.
MACHINES = {
    "x86_64": (0xC000003E, 72, (319, 447, 29, 68, 64, 425, 321, 323, 298, 248, 249, 250)),
    "aarch64": (0xC00000B7, 25, (279, 447, 194, 186, 190, 425, 280, 282, 241, 217, 218, 219)),
}
SET_LEASE = 1024  # what fcntl may not do; macOS, where this is imported too, has no name for it
X32 = 0x40000000  # on x86_64: the same calls once more, under other numbers

# Instructions of a filter, and where a filter finds what it judges.
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, MACHINE, SECOND_ARGUMENT = 0, 4, 24  # of the argument its lower half, as both machines are little-endian
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.ENOSYS


def program(machine: str = "") -> bytes:
    """The filter as the kernel takes it; nothing for a machine whose numbers aren't known here."""
    if (machine or platform.machine()) not in MACHINES:
        return b""
    name, fcntl, numbers = MACHINES[machine or platform.machine()]
    # A jump counts instructions that are left out: each goes to the last one, which refuses.
    tests = [(AT_LEAST, X32), *((EQUAL, number) for number in numbers)]
    last = len(tests) + 7
    lines = [(LOAD, 0, 0, MACHINE), (EQUAL, 0, last - 2, name), (LOAD, 0, 0, NUMBER)]
    lines += [(test, last - len(lines) - place - 1, 0, value) for place, (test, value) in enumerate(tests)]
    lines += [(EQUAL, 0, 2, fcntl), (LOAD, 0, 0, SECOND_ARGUMENT), (EQUAL, 1, 0, SET_LEASE)]
    lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def descriptor() -> int | None:
    """A pipe from which the filter can be read, for a program that is given it; None where there's no filter."""
    if not (made := program()):
        return None
    read, write = os.pipe()
    os.write(write, made)
    os.close(write)
    return read

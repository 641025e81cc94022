"""Tries to listen to what others send.

Lab: 03
Earns: nothing
May not touch: others' traffic
"""

import socket

for family, kind, protocol in ((socket.AF_PACKET, socket.SOCK_RAW, 3), (socket.AF_INET, socket.SOCK_RAW, 6)):
    try:
        socket.socket(family, kind, protocol)
        print("GOT", family)
    except OSError:
        pass

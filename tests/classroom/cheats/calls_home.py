"""Tries to reach the internet, or the cloud's metadata service.

Lab: 03
Earns: nothing
May not touch: the network outside
"""

import socket

for address in (("169.254.169.254", 80), ("8.8.8.8", 53), ("10.0.0.1", 443), ("172.17.0.1", 2375)):
    with socket.socket() as connection:
        connection.settimeout(1)
        if connection.connect_ex(address) == 0:
            print("GOT", address)
try:
    print("GOT", socket.gethostbyname("example.org"))
except OSError:
    pass

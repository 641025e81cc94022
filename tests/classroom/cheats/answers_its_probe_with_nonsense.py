"""Tries to make the grader fail at an answer that isn't HTTP, so that it counts as the grader's error.

Lab: 16
Check: test_probes_and_metrics_answer
Earns: nothing
May not touch: the verdict that it earns
"""

import http.server
import os
import threading


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.wfile.write(b"\xff\x00 999999999999999999999 \r\n" + b"x" * 100_000)


if "PORT" in os.environ:
    server = http.server.ThreadingHTTPServer(("0.0.0.0", int(os.environ["PORT"])), Answer)
    os.environ["PORT"] = "0"
    threading.Thread(target=server.serve_forever, daemon=True).start()

"""Tries to send the grader's own requests elsewhere, where a submission can't go itself.

Lab: 16
Check: test_probes_and_metrics_answer
Earns: nothing
May not touch: what the grader reaches and a submission does not
"""

import http.server
import os
import threading


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/followed"):
            print("GOT", "the grader to follow")
        self.send_response(302)
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/followed")
        self.end_headers()


if "PORT" in os.environ:
    server = http.server.ThreadingHTTPServer(("0.0.0.0", int(os.environ["PORT"])), Answer)
    os.environ["PORT"] = "0"
    threading.Thread(target=server.serve_forever, daemon=True).start()

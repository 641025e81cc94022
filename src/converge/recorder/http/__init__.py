"""HTTP/1.1 on both sides of the recorder."""

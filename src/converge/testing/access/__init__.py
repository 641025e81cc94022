"""Who the operator is to the API server: its account, its rights, and how it finds the server."""

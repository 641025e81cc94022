"""How the API server is reached: connections, credentials, the client, watches and the errors they end in."""

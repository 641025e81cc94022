"""How the recorder misbehaves on purpose: at requests, at watch events, by serving the past."""

"""The course's own operators, WebApp and Database, and what their lessons share."""

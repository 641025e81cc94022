"""Running checks: jobs, the pytest that does them, its plugin and fixtures, verification."""

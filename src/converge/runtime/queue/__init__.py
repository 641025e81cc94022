"""Which keys to look at, and when: de-duplication, delays, backoff and a rate limit."""

"""The probe and the cheats are data for these tests: pytest must not import them."""

collect_ignore = ["probe.py", "hostile.py", "cheats"]

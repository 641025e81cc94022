"""Processes of a submission: isolated, supervised, and gone with everything they started."""

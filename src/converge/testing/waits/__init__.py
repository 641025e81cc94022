"""Waiting by evidence: deadlines that fit the machine, conditions that come true or never do, an operator at rest."""

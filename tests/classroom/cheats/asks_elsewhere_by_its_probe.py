"""Tries to let the grader ask another server, by the path of a probe.

Lab: 16
Check: test_probes_and_metrics_answer
Earns: nothing
May not touch: what the grader reaches and a submission does not
"""

"""Tries to fill the grader's memory with mappings that are merged ten times over, and these again.

Lab: 16
Earns: nothing
May not touch: the grader's memory
"""

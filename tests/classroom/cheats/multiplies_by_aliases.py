"""Tries to fill the grader's memory with twenty lines of YAML that stand for a terabyte.

Lab: 16
Earns: nothing
May not touch: the grader's memory
"""

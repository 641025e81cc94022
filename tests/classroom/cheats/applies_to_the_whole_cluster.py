"""Tries to let the grader create what all share: a webhook, a class of priority, cluster-admin for everyone.

Lab: 16
Earns: nothing
May not touch: what all share in the cluster
"""

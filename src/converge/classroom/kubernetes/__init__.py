"""Grades a class on the instructor's own cluster: one submission per index of an Indexed Job.

`manifests` says what is created there, `status` what it says of itself, and `parcel` how a submission gets into its Pod
and a result out of it. `pod` runs in the Pod. `client` runs on the instructor's machine, which may be off meanwhile,
and `run` remembers the Job for it.
"""

"""`converge audit`: attack anybody's operator, and report what it got wrong with a file that does it again.

inputs, settings   what the user says: CRDs, a sample object, a command, what is allowed
sample, edits      objects like the sample, and small changes of its spec
testbed            one run of the operator: a namespace, a recorder, and
audited_operator   a process that is started again when it exits
snapshot, learn    what an object that is left alone leads to, and what of it differs from run to run
target, attacks    the attacks, most of them `converge.testing`'s own, judged by that reference
findings, session  what was found, confirmed, grouped and allowed
rights             the Role that the operator needs
report             HTML, JSON, JUnit, SARIF
"""

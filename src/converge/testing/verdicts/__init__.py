"""What a failed test says: the failure, values that differ, recorded evidence, the operator's traceback."""

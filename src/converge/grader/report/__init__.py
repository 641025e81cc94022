"""How results are shown and stored: one module per format, all made from `results.LabResult`."""

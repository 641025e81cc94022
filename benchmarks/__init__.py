"""What is measured, against whom. ``python -m benchmarks`` runs it all; each module runs alone as well."""

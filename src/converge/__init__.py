"""Learn the Kubernetes reconciliation loop in Python."""

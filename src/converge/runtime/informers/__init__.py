"""What is known about the cluster: caches that a list fills and a watch keeps current, and who hears of a change."""

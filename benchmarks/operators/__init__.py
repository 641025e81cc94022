"""One WebApp operator, on converge.runtime and on kopf; ``controller-runtime/operator`` is the third.

All three keep one Deployment and one Service for each WebApp, heal what others change or delete, report in the status,
write only when something differs, and read their children from memory.
"""

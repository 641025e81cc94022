"""The objects of a test: kinds, manifests, a namespace, and what the garbage collector does to them."""

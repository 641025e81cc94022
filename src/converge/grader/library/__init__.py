"""Labs that are a class: the submission's process, driven from outside over JSON lines."""

"""What the docs site needs beyond its builder: Markdown extensions and the scripts that refresh recorded material.

Everything here is plain Python-Markdown (no plugin of one builder, no hook), so that the pages outlive the
builder of today. Nothing in the course imports this package; it may look at every other layer.
"""

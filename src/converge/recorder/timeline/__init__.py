"""Pictures of a recording: for a terminal, as SVG, as a page."""

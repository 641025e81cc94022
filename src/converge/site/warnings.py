"""What is wrong with a page: told to the builder, and shown in the page."""

import logging
from html import escape

# Warnings below this name count for MkDocs' strict mode.
log = logging.getLogger("mkdocs.converge")


def warn_in_page(text: str) -> str:
    """Warn of it and return the HTML that stands in for what could not be made."""
    log.warning(text)
    return f'<div class="admonition failure"><p class="admonition-title">{escape(text)}</p></div>'

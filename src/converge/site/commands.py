"""The pages of the ``converge`` command, written from the command itself."""

import re
from pathlib import Path

import typer.main
from typer.cli import get_docs_for_click

from converge import cli

FENCE = re.compile(r"^```console\n(?P<body>.*?)\n```$", re.MULTILINE | re.DOTALL)
BOLD = re.compile(r"\[bold\](.*?)\[/(?:bold)?\]")
# What every command has, and nobody looks up.
HELP = re.compile(r"^\* `(-h, )?--help`.*\n", re.MULTILINE)
NO_OPTIONS = re.compile(r"\*\*Options\*\*:\n\n(?!\* )")


def render(root: Path, name: str) -> str:
    """Markdown for all commands: a heading, what it does, how it is called, its arguments and options."""
    command = typer.main.get_command(cli.app)
    context = typer.Context(command, info_name="converge")
    text = get_docs_for_click(obj=command, ctx=context, name="converge")
    text = text[text.index("\n## ") :]  # the page says itself what the whole is
    text = NO_OPTIONS.sub("", HELP.sub("", text))
    text = BOLD.sub(r"`\1`", text)
    return FENCE.sub(lambda fence: re.sub("^", "    ", fence["body"], flags=re.MULTILINE), text)

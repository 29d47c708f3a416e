"""Asking a person before something is done that cannot be undone."""

from __future__ import annotations

import sys

import click

DECLINED = 130
"""The exit status where somebody answers no, as if by Ctrl-C."""


def confirm(question: str, yes: bool) -> None:
    """Ask a person. Where there is none, nobody is asked, and nothing is done without --yes."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody can be asked here, so nothing was done: say --yes to do it.")
    if not click.confirm(question, err=True):
        click.echo("Nothing was done.", err=True)
        raise click.exceptions.Exit(DECLINED)

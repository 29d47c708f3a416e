"""Confirmation by a person before a change that cannot be undone."""

from __future__ import annotations

import sys

import click

DECLINED = 130
"""The exit status for the answer no, as for Ctrl-C."""


def confirm(question: str, yes: bool) -> None:
    """Ask a person to confirm. Without a terminal, --yes is required."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError(
            f"{question} There is no terminal to confirm on, so nothing was done. Add --yes to confirm."
        )
    if not click.confirm(question, err=True):
        click.echo("Nothing was done.", err=True)
        raise click.exceptions.Exit(DECLINED)

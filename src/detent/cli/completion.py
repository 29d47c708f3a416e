"""`detent completion`: scripts for shells to complete commands and options."""

from __future__ import annotations

import os
from pathlib import Path

import click

from detent.cli.options import Command

_INSTALL = {
    "bash": 'Add this line to ~/.bashrc:\n#   eval "$(detent completion bash)"',
    "zsh": 'Add this line to ~/.zshrc, after compinit:\n#   eval "$(detent completion zsh)"',
    "fish": "Run this once:\n#   detent completion fish > ~/.config/fish/completions/detent.fish",
}


@click.command(cls=Command, short_help="Print the script for completion in your shell.")
@click.argument("shell", required=False, type=click.Choice(list(_INSTALL)))
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> None:
    """Print the script that completes commands and options in SHELL (default: yours) with the Tab key.

    \b
    Examples:
      eval "$(detent completion bash)"
      eval "$(detent completion zsh)"
      detent completion fish > ~/.config/fish/completions/detent.fish
    """
    from click.shell_completion import get_completion_class

    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name)
    if name not in _INSTALL or kind is None:
        raise click.UsageError(f"Your shell is not one of {', '.join(_INSTALL)}. Give one of them as SHELL.")
    script = kind(ctx.find_root().command, {}, "detent", "_DETENT_COMPLETE").source()
    click.echo(f"# Completion of detent for {name}. {_INSTALL[name]}\n{script}")

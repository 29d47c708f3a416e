"""Runs one benchmark or all, shows the figures and keeps them in `build/bench/NAME.json`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import (
    backlog,
    codebase,
    embedding,
    exporting,
    finding,
    folders,
    loading,
    quiet,
    ranking,
    throughput,
    wiki,
    wikitext,
)
from benchmarks.figures import Figure, write

Tell = Callable[[str], None]

BENCHMARKS: dict[str, Callable[[Tell], list[Figure]]] = {
    "throughput": throughput.measure,
    "backlog": backlog.measure,
    "quiet": quiet.measure,
    "embedding": embedding.measure,
    "loading": loading.measure,
    "export": exporting.measure,
    "search": finding.measure,
    "ranking": ranking.measure,
    "files": folders.measure,
    "code": codebase.measure,
    "wikitext": wikitext.measure,
    "wiki": wiki.measure,
}


@click.command()
@click.argument("name", required=False, type=click.Choice(list(BENCHMARKS)))
@click.option("--list", "only_list", is_flag=True, help="Show the benchmarks and run none.")
def main(name: str | None, only_list: bool) -> None:
    """Run the benchmark NAME, or all of them.

    A goal that is missed shows in the table; only a benchmark that fails to finish makes this command fail.
    """
    console = Console()
    if only_list:
        console.print(catalogue())
        return
    finished = [run(each, console) for each in ([name] if name else BENCHMARKS)]
    sys.exit(0 if all(finished) else 1)


def catalogue() -> Table:
    table = Table("benchmark", "what it measures")
    for name, measure in BENCHMARKS.items():
        table.add_row(name, (measure.__doc__ or "").partition("\n")[0])
    return table


def run(name: str, console: Console) -> bool:
    """Measure, show and keep; False if the benchmark crashed."""
    try:
        with progress(name, console) as tell:
            figures = BENCHMARKS[name](tell)
    except Exception:
        console.print_exception()
        console.print(f"[red]The benchmark {name} failed; its figures from before, if any, are unchanged.[/]")
        return False
    console.print(table_of(name, figures))
    console.print(f"Kept in {write(name, figures)}.")
    return True


@contextmanager
def progress(name: str, console: Console) -> Iterator[Tell]:
    """A line that says what is under way; where nobody watches, a line for each thing begun."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as line:
        task = line.add_task(name, total=None)

        def tell(doing: str) -> None:
            line.update(task, description=f"{name}: {doing}")
            if not console.is_terminal:
                console.print(f"{name}: {doing}")

        yield tell


def table_of(name: str, figures: Sequence[Figure]) -> Table:
    table = Table("figure", "value", "unit", "goal", "met", "peer", title=name)
    table.columns[1].justify = "right"
    for figure in figures:
        met = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}[figure.met]
        digits = 0 if abs(figure.value) >= 100 else 2
        value = f"{figure.value:,.{digits}f}"
        table.add_row(figure.name, value, figure.unit, figure.goal or "", met, figure.peer or "")
    return table


if __name__ == "__main__":
    main()

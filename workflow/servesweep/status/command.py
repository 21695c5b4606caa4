"""`servesweep status`: print once, or keep a table in the terminal up to date."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from servesweep.status.look import Looker

# Lines of a terminal that are not rows of configurations.
FRAME_ROWS = 8
SLURM_SECONDS = 5.0
WIDE = 200


@click.command()
@click.argument("results", type=click.Path(path_type=Path, file_okay=False), default=Path("results"))
@click.option("--once", is_flag=True, help="Print once, every configuration, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print once, one object a line.")
@click.option("--interval", default=1.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds.")
def status(results: Path, once: bool, as_json: bool, interval: float) -> None:
    """Show what each configuration of a sweep is doing: Slurm state, stage, workers, points, tok/s."""
    # Every process of a run starts this command line, and none of them needs these.
    from rich.console import Console

    from servesweep.status.look import Looker
    from servesweep.status.table import status_table

    if not results.is_dir():
        raise click.ClickException(f"{results}: no such directory; a run of snakemake makes it")
    looker = Looker(results)
    if sys.stdout.isatty() and not (once or as_json):
        _live(looker, interval)
        return
    looker.ask_slurm()
    views, sweep = looker.look()
    if as_json:
        for view in (*views, sweep):
            click.echo(view.model_dump_json())
    else:
        console = Console()
        # A pipe has no width; a name that is cut would be of no use there.
        wide = console if console.is_terminal else Console(width=WIDE)
        wide.print(status_table(views, sweep), crop=False)


def _ask_again(looker: Looker) -> None:
    """Ask Slurm every few seconds; one that does not answer keeps nobody waiting."""
    while True:
        looker.ask_slurm()
        time.sleep(SLURM_SECONDS)


def _live(looker: Looker, interval: float) -> None:
    """Until Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    from servesweep.status.table import status_table

    console = Console()
    threading.Thread(target=_ask_again, args=(looker,), daemon=True).start()
    try:
        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                rows = max(console.size.height - FRAME_ROWS, 1)
                live.update(status_table(*looker.look(), rows=rows), refresh=True)
                time.sleep(interval)
    except KeyboardInterrupt:
        console.print(status_table(*looker.look(), rows=max(console.size.height - FRAME_ROWS, 1)))

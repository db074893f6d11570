"""``unknot data``: list and inspect datasets; one file per verb."""

import typer

from unknot.cli.data import distances, list_, show

app = typer.Typer(help="List and inspect datasets.", no_args_is_help=True)
app.command("list")(list_.list_)
app.command("show")(show.show)
app.command("distances")(distances.distances)

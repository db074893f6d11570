"""``unknot data``: list, get and inspect datasets; one file per verb."""

import typer

from unknot.cli.data import blurs, distances, get, list_, remove, show
from unknot.cli.usage import Verb

app = typer.Typer(help="List, get and inspect datasets.", no_args_is_help=True)
app.command("list", cls=Verb)(list_.list_)
app.command("get", cls=Verb)(get.get)
app.command("remove", cls=Verb)(remove.remove)
app.command("show", cls=Verb)(show.show)
app.command("distances", cls=Verb)(distances.distances)
app.command("blurs", cls=Verb)(blurs.blurs)

"""``unknot study``: plan, run and read grids of runs; one file per verb."""

import typer

from unknot.cli.study import export, extract, list_, merge, plan, run, status, table
from unknot.cli.usage import Verb

app = typer.Typer(
    help="Plan, run, resume and export studies (grids of runs).", no_args_is_help=True
)
app.command("plan", cls=Verb)(plan.plan)
app.command("run", cls=Verb)(run.run)
app.command("list", cls=Verb)(list_.list_)
app.command("status", cls=Verb)(status.status)
app.command("table", cls=Verb)(table.table)
app.command("export", cls=Verb)(export.export)
app.command("extract", cls=Verb)(extract.extract)
app.command("merge", cls=Verb)(merge.merge)

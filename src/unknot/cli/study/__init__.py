"""``unknot study``: plan, run and read grids of runs; one file per verb."""

from unknot.cli.study import export, extract, list_, merge, plan, run, status, table
from unknot.cli.usage import Verbs

app = Verbs(help="Plan, run, resume and export studies (grids of runs).", no_args_is_help=True)
app.command("plan")(plan.plan)
app.command("run")(run.run)
app.command("list")(list_.list_)
app.command("status")(status.status)
app.command("table")(table.table)
app.command("export")(export.export)
app.command("extract")(extract.extract)
app.command("merge")(merge.merge)

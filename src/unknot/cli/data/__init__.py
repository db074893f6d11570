"""``unknot data``: list, get and inspect datasets; one file per verb."""

from unknot.cli.data import blurs, distances, get, list_, remove, show
from unknot.cli.usage import Verbs

app = Verbs(help="List, get and inspect datasets.", no_args_is_help=True)
app.command("list")(list_.list_)
app.command("get")(get.get)
app.command("remove")(remove.remove)
app.command("show")(show.show)
app.command("distances")(distances.distances)
app.command("blurs")(blurs.blurs)

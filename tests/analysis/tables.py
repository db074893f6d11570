"""Tables of studies, written by hand, and what is asked of them most often."""

from unknot.analysis import Results


def run(objective="beta_vae", **values):
    """One row; two underscores are a dot."""
    return {"objective": objective, **{k.replace("__", "."): v for k, v in values.items()}}


def seeds(values, objective="beta_vae", **setting):
    return [run(objective, seed=i, mig=v, **setting) for i, v in enumerate(values)]


def configurations(table, **options):
    return Results(table, **options).configurations


def summaries(table, scores=None, **options):
    return Results(table, scores, **options).summaries()


def ranking(table, scores=None, **options):
    return Results(table, scores, **options).ranking


def best_values(table, scores=None, **options):
    return Results(table, scores, **options).best_values


def front(table, score, **options):
    return Results(table, **options).front(score)


def correlations(table, scores=None):
    return Results(table, scores).agreement()


def shares(table, scores=None):
    return Results(table, scores).variance_shares()

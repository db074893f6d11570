"""Tables of studies, written by hand."""


def run(objective="beta_vae", **values):
    """One row; two underscores are a dot."""
    return {"objective": objective, **{k.replace("__", "."): v for k, v in values.items()}}


def seeds(values, objective="beta_vae", **setting):
    return [run(objective, seed=i, mig=v, **setting) for i, v in enumerate(values)]

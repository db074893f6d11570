"""Commands that a stranger types: words in a wrong place, empty ones, names of a wrong case."""

from bad_inputs.rows import LONG, Bad, bad

DATA = "train --net linear --steps 2 --data {d}/grid.npz"
PICS = "train --net linear --steps 2 --data {d}/pics"

TEXTS = {
    "study_file.toml": 'name = "s"\n[train]\nsteps = 2\n',
    "runs_table.csv": "objective,seed,mig\nvae,0,0.1\nvae,1,0.2\n",
    "pics.csv": "name,who,n\n0.png,x,1\n1.png,y,2\n",
}

COMMANDS = [
    bad("train --steps abc", "it should be a valid integer; got", "words"),
    bad("train --steps abc", "got abc. See: unknot train --help", "words"),
    bad("train --nope", "No such option: --nope", "words"),
    bad("trian", "No such command 'trian'. Did you mean 'train'? See: unknot --help", "words"),
    bad("resume {run} --steps 0", "1; got 0. See: unknot resume --help", "words"),
    bad("evaluate {run} --seed=-1", "0; got -1. See: unknot evaluate --help", "words"),
    bad("list Objectives", "Invalid value for 'what': 'Objectives' is not one of", "words"),
    bad("list", "Missing argument 'what'", "words"),
    Bad(("train", "--out", "", "--steps", "1"), "an empty text names no file or folder", "words"),
    bad("train STEPS=5", "did you mean 'steps'?", "words"),
    bad("train objective=Beta_VAE", "did you mean 'beta_vae'?", "words"),
    bad("evaluate {run} --metrics MIG", "did you mean 'mig'?", "words"),
    Bad(("evaluate", "{run}", "--metrics", ""), "Expected one or more names", "silent"),
    Bad(("score", "{d}/no_factors.npz", "--metrics", ","), "Expected one or more names", "silent"),
    bad("score {d}/no_factors.npz --interval 95", "interval is a level between 0 and 1", "silent"),
    Bad(("train", f"objective={LONG}"), "There is no objective", "words"),
    bad("train {d}/pics", "For data: --data", "words"),
    bad("train steps", "Expected a TOML file of settings", "words"),
    bad("train {d}/study_file.toml", "is a study file; use `unknot study run", "words"),
    Bad(("train", "--data", ""), "Expected the name of a dataset, a folder or a file", "silent"),
    bad("train --data ::images", "Expected the name of a dataset", "silent"),
    bad("train objective.beta.gamma=4", "objective.beta as a table needs a kind, one of", "words"),
    bad("train --seeds 9..0", "Seeds run upwards, as in 0..9; got 9..0.", "words"),
    bad("train steps=true", "steps should be a whole number; got True", "words"),
    bad("train --net mlp net.hidden=5", "net.hidden should be a list; got 5", "words"),
    bad(f"{PICS} data.standardize=yes", "should be true or false; got 'yes'", "words"),
    bad(f"{PICS} data.size=100000", "data.size is a side from 1 to 4,096", "hang"),
    bad(f"{PICS} data.content=abc", "are no longer those of the run", "silent"),
    Bad((*PICS.split(), "--labels", ""), "data.labels is an empty text", "silent"),
    bad(f"{PICS} --labels {{d}}/pics.csv --kind n=nominal --kind n=cyclic", "given twice", "silent"),
    bad("train --data dsprites --labels {d}/pics.csv", "dsprites has factors of its own", "words"),
    bad(f"{PICS} --objective ada_gvae", "give labels, or add 'factors'", "words"),
    bad(f"{DATA} keep=worst split=rows validate_every=2", "No value 'worst' is logged", "silent"),
    bad(f"{DATA} stop.metric=nope stop.patience=2", "No value 'nope' is logged", "silent"),
    bad(f"{DATA} --out {{d}}/file/run", "is a file, not a folder", "words"),
    Bad((*DATA.split(), "--out", LONG), "file name too long", "words"),
    bad(f"{DATA} --out {{d}}/missing/../taken", "write", "silent"),
    bad("encode {run} --out {d}/pipe --force", "is a pipe or a device", "hang"),
    bad("gallery vae --steps 2 --net linear --data {d}/grid.npz --out {d}/file", "not a folder", ""),
    bad("report {d}/runs_table.csv --out {run}", "holds a run or a study", "silent"),
    bad("study run quickstart --out {d}/file", "is a file, not a folder", "words"),
    bad("study run quickstart --out {d}/file/x", "is a file, not a folder", "words"),
    bad("data show {d}/pics --out x.jpg", "ends in .png", "silent"),
    bad("data get {d}/pics", "lies here already", "words"),
    bad("data remove ../.. --yes", "There is no dataset '../..'", "words"),
    bad("encode {run} --rows 1000000 --out c.npz", "at most", "silent"),
]  # fmt: skip

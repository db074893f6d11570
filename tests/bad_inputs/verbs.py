"""Other verbs."""

from bad_inputs.rows import ESC, Bad, bad

LEARN = "learn-loss --data {d}/grid.npz --set loss.steps=1"
BLURS = "data blurs {d}/grid.npz"

COMMANDS = [
    bad("gallery [/]", "[/]", ""),
    bad("gallery --steps 0", "steps", ""),
    bad("list", "", "", 2),
    bad("list [/]", "[/]", ""),
    bad("learn-loss --data [/]", "[/]", ""),
    bad("learn-loss --radius -1", "radius", ""),
    bad("learn-loss --data nobody", "nobody", ""),
    bad(f"{LEARN} --grid loss={{radius=1}} --steps 1", "loss is set, and an axis", "silent"),
    bad(f"{LEARN} --grid radus=1", "did you mean 'radius'", "words"),
    bad(f"{LEARN} --grid seed=9223372036854775808", "LossSettings.seed must be", "words"),
    bad(f"{LEARN} --grid pairs=9223372036854775807", "LossSettings.pairs must be", "traceback"),
    bad(f"{LEARN} --grid radius=1 --out {{run}}", "holds a run or a study", "silent"),
    Bad((*LEARN.split(), "--grid", "radius=1", "--out", ""), "an empty text", "silent"),
    bad(f"{BLURS} --radius {'9' * 50}", "from 1 to 1,000,000", "traceback"),
    bad(f"{BLURS} --radius 1e3", "whole numbers from 1", ""),
    bad(f"{BLURS} --weight 1e308", "numbers from 0 to 1,000,000", "silent"),
    bad(f"{BLURS} --weight nan", "numbers from 0 to 1,000,000", ""),
    bad(f"{BLURS} --pairs 9223372036854775807", "--pairs", "traceback"),
    bad(f"{BLURS} --out {{run}}", "holds a run or a study", "silent"),
    Bad((*BLURS.split(), "--out", ""), "an empty text", "silent"),
    bad("data distances {d}/grid.npz --pairs 100000000000", "--pairs", "words"),
    Bad(("data", "show", "{d}/grid.npz", "--out", ""), "an empty text", "traceback"),
    Bad(("gallery", "vae", "--out", ""), "an empty text", "silent"),
    bad("study merge {d}/there.zip {d}/nothing --out x", "is an archive; unpack it", "words"),
    bad("study merge {d}/nothing {d}/nothing --out x", "no study", ""),
    bad("study merge {d}/nothing --out x", "two studies or more", ""),
    Bad(("study", "merge", "{d}/nothing", "{d}/nothing", "--out", ""), "an empty text", "words"),
    bad("study plan {d}/there.zip", "there.zip", "words"),
    bad("train --batch abc", "valid integer; got abc", ""),
    Bad(("nobody",), "nobody", ""),
    Bad(("[/]",), "[/]", ""),
    Bad((ESC,), "No such command", ""),
    Bad(("train", ESC + ".toml"), "\\x1b", ""),
]  # fmt: skip

"""What others get and what comes from them: archives, models, pages and papers.

`before` is what 29dffb4 did: most rows were tried on it by hand, the others read off its code.
"""

from bad_inputs.rows import ESC, LONG, Bad, Call, bad

RUN = "unknot.load(run, device='cpu')"
IMAGES = "np.zeros((8, 16, 16), 'uint8')"
TABLE = "report {d}/two_runs.csv"

TEXTS = {
    "two_runs.csv": "objective,seed,mig\nvae,0,0.1\nvae,1,0.2\n",
    "nul.csv": "objective,seed,mig\nvae\0,0,0.1\nvae,1,0.2\n",
    "one_more.csv": "a,b\n1,2,3\n4,5,6\n",
    "long_digits.csv": f"a,b\n{'9' * 400},1\n2,3\n",
    "mine.html": "mine",
}

COMMANDS = [
    bad("archive {run} --out x.tar", "ends in .zip", ""),
    bad("archive {run} --weights HALF", "did you mean 'half'", ""),
    bad("archive {d}/nothing --out x.zip", "neither a run nor a study", ""),
    bad("archive / --out x.zip", "neither a run nor a study", ""),
    bad("archive /dev/zero --out x.zip", "neither a run nor a study", ""),
    bad("archive {run} --out /dev/full --force", "is a pipe or a device", ""),
    bad(f"archive {{run}} --out {LONG}.zip", "file name too long", ""),
    bad("export {run} --out {run}", "which is no file of an exported model", ""),
    bad("export {run} --out {d}/taken --force", "holds notes.txt", ""),
    bad("export {run} --out {d}/file", "is a file, not a folder", ""),
    bad("export {run} --out x --member 1", "from 0 to 0; got 1", ""),
    Bad(("export", "{run}", "--out", "x", "--license", ""), "such as mit or cc-by-4.0; got ''.", "words"),
    Bad(("export", "{run}", "--out", "x", "--license", "a\nb: c"), "got a\\nb: c.", ""),
    Bad(("export", "{run}", "--out", "x", "--data", ""), "an empty text names no file", "words"),
    Bad(("evaluate", "{run}", "--data", ""), "an empty text names no file", "words"),
    bad("export {run} --out x --device cpu:7", "without a number", ""),
    bad("push {run} faces", "user/faces; got faces", ""),
    bad("push {run} ../faces", "user/faces; got ../faces", ""),
    Bad(("push", "{run}", ""), "user/faces; got ''.", "words"),
    Bad(("push", "{run}", ESC + "/x"), "\\x1b", ""),
    bad("push {run} me/faces --license MIT!", "license is an identifier", "hang"),
    bad("push {run} me/faces --member 3", "from 0 to 0; got 3", "hang"),
    bad("show hub:me/faces", 'unknot.load("hub:me/faces").save(FOLDER)', "words"),
    bad("evaluate hub:me/faces", "is on the hub; take it from there", "words"),
    bad("figures nobody", "There is no figure 'nobody'", ""),
    bad("figures ../x", "There is no figure '../x'", ""),
    bad("figures --out {run}", "holds a run or a study", ""),
    bad("figures iwae_bound --out {d}/file", "is a file, not a folder", ""),
    bad("check {run} --rescore 1.5", "a valid integer; got 1.5", ""),
    bad("check {run} --rescore 1 --tolerance nan", "--tolerance", ""),
    bad("check {run} --rescore 1", "has no scores", ""),
    bad("check /dev/zero", "There is no folder and no archive", ""),
    Bad(("report", "{d}/two_runs.csv", "--baseline", "", "--out", "x"), "There is no objective or configuration ''", "words"),
    bad(f"{TABLE} --out x --baseline mig=0.1 --baseline mig=0.2", "mig is given twice", "silent"),
    bad(f"{TABLE} --out x --baseline {{d}}/two_runs.csv:", "There is no objective or configuration", "silent"),
    bad(f"{TABLE} --out x --where recon<", "A condition on runs looks like recon<50", ""),
    bad(f"{TABLE} --out x --where nobody<5", "There is no column of numbers 'nobody'", ""),
    bad(f"{TABLE} --out x --where mig<0", "None of 2 runs has mig<0", ""),
    bad(f"{TABLE} --out x --published /dev/zero", "/dev/zero: a pipe or a device, not a file.", "words"),
    bad("report {d}/nul.csv --out x", "it has a NUL character in it", "silent"),
    bad("train --net mlp --steps 1 --data {d}/one_more.csv --out x", "its rows are longer than its first line", "silent"),
    bad("train --net mlp --steps 1 --data {d}/long_digits.csv --out x", "too large values", "traceback"),
    bad("train --net linear --steps 1 --data {d}/grid.npz --out x track=nope", "track", ""),
    bad("evaluate {run} --metrics mig@nobody", "There is no protocol 'nobody'", ""),
    bad("evaluate {run} --metrics mig@", "There is no protocol ''", ""),
    bad("evaluate {run} --metrics nobody@study2019", "nobody", ""),
    bad("evaluate {run} --metrics mig@paper,mig@kumar", "mig has no protocol 'kumar'", "words"),
    Bad(("train", "--steps", "1", "--net", "linear", "--data", "{d}/grid.npz", "data.path="), "data.path is an empty text", "silent"),
    bad("study table {d}/nothing --parquet x.csv", "ends in .parquet; got x.csv", "silent"),
    bad("evaluate {run} --step 3", "has no weights of step 3", ""),
]  # fmt: skip

CALLS = [
    Call(f"{RUN}.export(None)", "path must be of the type", ""),
    Call(f"{RUN}.export('x', license=5)", "license is an identifier", ""),
    Call(f"{RUN}.push('me/faces', license='x y')", "license is an identifier", "hang"),
    Call(f"{RUN}.push('me/faces', member=4)", "from 0 to 0; got 4", "hang"),
    Call(f"{RUN}.decode(np.zeros((2, 10), complex))", "Codes must be real numbers; got complex128.", "silent"),
    Call(f"{RUN}.decode(torch.zeros(2, 10, dtype=torch.complex64))", "Codes must be real numbers", "silent"),
    Call(f"{RUN}.decode(np.zeros((2, 10), 'datetime64[s]'))", "Codes must be real numbers", "traceback"),
    Call(f"{RUN}.member(None)", "The number of a model must be a whole number", "traceback"),
    Call(f"{RUN}.member(True)", "The number of a model must be a whole number", ""),
    Call(f"{RUN}.dataset.batch('a')", "Rows are whole numbers; got a.", "traceback"),
    Call(f"{RUN}.codes(5)", "Expected a list of row numbers; got 5.", "traceback"),
    Call("unknot.load(run, data=np.zeros((40, 8, 8), 'uint8'))", "The data is not that of the run", "traceback"),
    Call("unknot.load('hub:')", "such as user/faces; got ''.", ""),
    Call("unknot.load('hub:a/b@../x')", "A revision is a commit", ""),
    Call(f"unknot.train({IMAGES}, track=5, net='linear', steps=1)", "track must be one name or a list of names; got 5.", "traceback"),
    Call(f"unknot.train({IMAGES}, unknot.objectives.BetaVAE(beta=None), net='linear', steps=1)", "BetaVAE.beta must have a value; got None.", "silent"),
    Call(f"unknot.train({IMAGES}, net='linear', steps=1, optimizer=unknot.Adam(lr=None))", "Adam.lr must have a value; got None.", "silent"),
    Call("unknot.nets.MLP(latents='x')", "net.latents must be a whole number", "traceback"),
    Call("unknot.nets.MLP(hidden=5)", "net.hidden must be of the type", "traceback"),
    Call("unknot.nets.MLP(hidden=('a',))", "A width of net.hidden must be of the type int", "traceback"),
    Call("unknot.study('s', data='xysquares', grid={'objective.beta': range(10**9)})", "more than 1,000,000 values", "hang"),
    Call("unknot.study('s', data='xysquares', out='')", "out is an empty text", "silent"),
    Call("unknot.train(__import__('pandas').DataFrame({'a': [1 + 1j, 2], 'b': [1, 2]}), steps=1)", "complex numbers", "silent"),
]  # fmt: skip

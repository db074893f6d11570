"""Tables of runs: `unknot report` and `unknot.analysis`."""

from bad_inputs.rows import Call, bad

TEXTS = {
    "no_objective.csv": "id,seed,mig\n1,0,0.5\n",
    "twice.csv": "id,objective,seed,mig,mig\n1,vae,0,0.1,0.2\n",
    "no_rows.csv": "id,objective,seed,mig\n",
    "empty.csv": "",
    "digits.csv": f"id,objective,seed,mig\n1,vae,0,{'9' * 400}\n",
    "digits_seed.csv": f"id,objective,seed,mig\n1,vae,{'9' * 400},0.5\n",
    "long_field.csv": f"id,objective,seed,mig\n1,{'v' * 140_000},0,0.5\n",
    "longer_row.csv": "id,objective,seed,mig\n1,vae,0,0.5,7\n",
    "words.csv": "id,objective,seed,mig\n1,vae,0,high\n",
    "no_scores.csv": "id,objective,seed\n1,vae,0\n",
    "all_diverged.csv": "id,objective,seed,status,mig\n1,vae,0,diverged,0.5\n",
    "unnamed.csv": "objective,,,mig\nvae,1,2,0.5\n",
    "part_seed.csv": "id,objective,seed,mig\n1,vae,0.5,0.1\n2,vae,1.5,0.2\n",
    "word_seed.csv": "id,objective,seed,mig\n1,vae,first,0.1\n",
    "list_seed.csv": "id,objective,seed,mig\n1,vae,[0],0.1\n",
    "negative_seed.csv": "id,objective,seed,mig\n1,vae,-1,0.1\n",
    "number_objective.csv": "id,objective,seed,mig\n1,,0,0.1\n",
    "published.csv": "model_num,model_name\n1,x\n",
}  # fmt: skip
COMMANDS = [
    bad("report {d}/no_objective.csv", "column 'objective'", ""),
    bad("report {d}/twice.csv", "columns called 'mig'", "silent"),
    bad("report {d}/no_rows.csv", "no rows", ""),
    bad("report {d}/empty.csv", "no rows", ""),
    bad("report {d}/digits.csv", "digits", "traceback"),
    bad("report {d}/digits_seed.csv", "digits", "silent"),
    bad("report {d}/long_field.csv", "field", ""),
    bad("report {d}/longer_row.csv", "longer than its first line", ""),
    bad("report {d}/words.csv", "no scores", ""),
    bad("report {d}/no_scores.csv", "no scores", ""),
    bad("report {d}/all_diverged.csv", "The only run diverged", ""),
    bad("report {d}/unnamed.csv", "without a name", "silent"),
    bad("report {d}/part_seed.csv", "whole number", "silent"),
    bad("report {d}/list_seed.csv", "whole number", "traceback"),
    bad("report {d}/published.csv", "2019", ""),
    bad("report {d}/latin.csv", "Cannot read the table", ""),
    bad("report {d}/pipe.csv", "a pipe or a device", "hang"),
    bad("report /dev/zero", "a pipe or a device", "hang"),
    bad("report {d}/none.csv", "no study and no table", ""),
    bad("report {d}/nothing", "neither a study", ""),
    bad("report {d}/words.csv --metrics [/]", "[/]", ""),
    bad("report {d}/words.csv --metrics nobody", "nobody", ""),
    bad("report {d}/words.csv --out {d}/file", "file", ""),
    bad("report {d}/words.csv --device cpu:7", "cpu", ""),
]  # fmt: skip
CALLS = [
    Call(
        "unknot.analysis.Results({'objective': ['vae'], 'mig': ['x']}, ['mig']).summaries()", "", ""
    ),
    Call("unknot.analysis.Results({'mig': [1.0]}, ['mig']).summaries()", "", ""),
    Call("unknot.analysis.Results([], ['mig'])", "no rows", ""),
    Call("unknot.analysis.Results(3, ['mig'])", "", ""),
    Call(
        "unknot.analysis.Results({'objective': ['vae'], 'mig': [1.0, 2.0]}, ['mig'])", "equal", ""
    ),
]

BEGIN TRANSACTION;
CREATE TABLE configurations (number INTEGER PRIMARY KEY, spec TEXT NOT NULL UNIQUE);
INSERT INTO "configurations" VALUES(1,'{"format": 2, "steps": 20, "batch": 8, "precision": "float32", "log_every": 10, "checkpoint_every": 1000, "data": {"name": "arrays", "path": "/nowhere/images.npz"}, "net": {"name": "linear", "latents": 2, "init": "torch"}, "objective": {"name": "beta_vae", "beta": 4.0, "likelihood": "gaussian"}, "optim": {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-08}}');
INSERT INTO "configurations" VALUES(2,'{"format": 2, "steps": 20, "batch": 8, "precision": "float32", "log_every": 10, "checkpoint_every": 1000, "data": {"name": "arrays", "path": "/nowhere/images.npz"}, "net": {"name": "linear", "latents": 2, "init": "torch"}, "objective": {"name": "beta_vae", "beta": 4.0, "likelihood": "gaussian"}, "optim": {"lr": 1e+30, "beta1": 0.9, "beta2": 0.999, "eps": 1e-08}}');
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO "facts" VALUES('format','2');
INSERT INTO "facts" VALUES('name','earlier');
INSERT INTO "facts" VALUES('metrics','["mig"]');
INSERT INTO "facts" VALUES('protocol','unknot');
INSERT INTO "facts" VALUES('score_seed','0');
INSERT INTO "facts" VALUES('text','
name = "earlier"
seeds = [0, 1]
members = 4
metrics = ["mig"]
[train]
data = {name = "arrays", path = "/nowhere/images.npz"}
net = {name = "linear", latents = 2}
objective = {name = "beta_vae", likelihood = "gaussian"}
steps = 20
batch = 8
log_every = 10
[[grid]]
optim.lr = [0.01, 1e30]
');
INSERT INTO "facts" VALUES('threads','2');
INSERT INTO "facts" VALUES('unknot','0.1.0');
CREATE TABLE measures (
    number INTEGER PRIMARY KEY,
    metric TEXT NOT NULL,
    protocol TEXT NOT NULL,
    options TEXT NOT NULL,
    code TEXT NOT NULL,
    UNIQUE (metric, protocol, options, code)
);
INSERT INTO "measures" VALUES(1,'mig','unknot','{"bins": 20, "corrected": true, "dead": "left out", "edges": "quantile", "factor_bins": null, "factors": ["factor_0", "factor_1"], "normalizer": "factor", "rows": 12, "samples": null, "seed": 0, "version": 1}','0.1.0');
CREATE TABLE plan (
    run TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    configuration INTEGER NOT NULL REFERENCES configurations (number),
    seed BIGINT NOT NULL,
    population TEXT NOT NULL REFERENCES populations (key),
    member INTEGER NOT NULL,
    current INTEGER NOT NULL
);
INSERT INTO "plan" VALUES('b9370a04e708',0,1,0,'34eb1cb599fd',0,1);
INSERT INTO "plan" VALUES('d484ad99ebe2',1,1,1,'34eb1cb599fd',1,1);
INSERT INTO "plan" VALUES('277a3ab3094d',2,2,0,'34eb1cb599fd',2,1);
INSERT INTO "plan" VALUES('faa8f6bdce17',3,2,1,'34eb1cb599fd',3,1);
CREATE TABLE populations (
    key TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    members INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    done INTEGER NOT NULL,
    error TEXT
);
INSERT INTO "populations" VALUES('34eb1cb599fd',0,4,20,'done','train',20,NULL);
CREATE TABLE runs (
    run TEXT PRIMARY KEY REFERENCES plan (run),
    status TEXT NOT NULL,
    diverged_at INTEGER,
    step INTEGER NOT NULL,
    seconds REAL NOT NULL,
    device TEXT NOT NULL,
    versions TEXT NOT NULL,
    last TEXT NOT NULL
);
INSERT INTO "runs" VALUES('b9370a04e708','done',NULL,20,0.092,'cpu','{"unknot": "0.1.0", "torch": "2.13.0+cpu", "python": "3.11.7", "machine": "x86_64", "threads": 1}','{"loss": 3.9256317615509033, "recon": 3.601651668548584, "recon.weight": 1.0, "kl": 0.08099502325057983, "kl.weight": 4.0}');
INSERT INTO "runs" VALUES('d484ad99ebe2','done',NULL,20,0.092,'cpu','{"unknot": "0.1.0", "torch": "2.13.0+cpu", "python": "3.11.7", "machine": "x86_64", "threads": 1}','{"loss": 4.048455238342285, "recon": 3.6779491901397705, "recon.weight": 1.0, "kl": 0.09262649714946747, "kl.weight": 4.0}');
INSERT INTO "runs" VALUES('277a3ab3094d','diverged',10,20,0.092,'cpu','{"unknot": "0.1.0", "torch": "2.13.0+cpu", "python": "3.11.7", "machine": "x86_64", "threads": 1}','{"loss": null, "recon": null, "recon.weight": 1.0, "kl": null, "kl.weight": 4.0}');
INSERT INTO "runs" VALUES('faa8f6bdce17','diverged',10,20,0.092,'cpu','{"unknot": "0.1.0", "torch": "2.13.0+cpu", "python": "3.11.7", "machine": "x86_64", "threads": 1}','{"loss": null, "recon": null, "recon.weight": 1.0, "kl": null, "kl.weight": 4.0}');
CREATE TABLE scores (
    run TEXT NOT NULL REFERENCES plan (run),
    measure INTEGER NOT NULL REFERENCES measures (number),
    name TEXT NOT NULL,
    value REAL,
    remark TEXT NOT NULL,
    PRIMARY KEY (run, measure, name)
);
INSERT INTO "scores" VALUES('b9370a04e708',1,'mig',0.0,'12 rows for up to 80 cells: information is overestimated');
INSERT INTO "scores" VALUES('d484ad99ebe2',1,'mig',0.0,'12 rows for up to 80 cells: information is overestimated');
COMMIT;

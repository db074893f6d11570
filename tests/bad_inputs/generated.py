"""Values that no setting, or hardly any, can have: every setting with each of them.

Some are accepted, as `seeds=0` is; none may end in a traceback, take long or print what moves the cursor.
"""

from bad_inputs.rows import ESC, LONG

KEYS = (
    *("batch", "seeds", "log_every", "checkpoint_every", "validate_every", "order_seed", "ema"),
    *("precision", "stop", "keep", "score_at", "score_every", "metrics", "format", "version"),
    *("optim", "optim.name", "optim.lr", "optim.betas", "optim.clip_norm", "optim.weight_decay"),
    *("objective", "objective.name", "objective.beta", "objective.preset", "objective.likelihood"),
    *("objective.likelihood.kind", "net", "net.name", "net.latents", "net.activation", "sampler"),
    *("sampler.name", "sampler.k", "sampler.weights", "split", "split.kind", "split.test", "data"),
    *("data.name", "data.path", "data.size", "data.channels", "nothing", "a.b.c", ""),
)  # fmt: skip
VALUES = (
    *("", "-1", "0", "1.5", "nan", "inf", "-inf", "1e999", "9223372036854775808", "9" * 400),
    *("4611686018427387904", "true", "word", "[]", "{}", "[[]]", "[1, 2]", "{a=1}", "[" * 5_000),
    *("1979-05-27", "07:32:00", "[/]", ESC, "a\0b", "a\nb", LONG, "../..", "/dev/zero", "=1+1"),
    *('"', "'", "ünï", "\u202e", "١", "\ud800"),
)  # fmt: skip
SETTINGS = [f"{key}={value}" for key in KEYS for value in VALUES]

"""Codes to score: `unknot score` and `unknot.metrics`."""

from bad_inputs.rows import Bad, Call, bad

COMMANDS = [
    *[
        Bad(("score", f"{{d}}/{name}.npz", "--metrics", "mig"), expected, before)
        for name, expected, before in [
            ("empty", "empty.npz", ""),
            ("text", "plain arrays", ""),
            ("locked", "encrypted", "traceback"),
            ("pipe", "a pipe or a device", "hang"),
            ("no_codes", "no array 'codes'", ""),
            ("no_factors", "factors", ""),
            ("objects", "plain array as 'codes'", ""),
            ("lengths", "64", ""),
            ("flat", "codes", ""),
            ("test_half", "codes_test", ""),
            ("models", "--model", ""),
            ("none", "none.npz", ""),
        ]
    ],
    bad("score {d}/taken", "taken", ""),
    bad("score {d}/empty.npy", "empty.npy", ""),
]  # fmt: skip
CALLS = [
    Call("unknot.metrics.mig(codes * 1j, factors)", "real", ""),
    Call("unknot.metrics.mig(torch.tensor(codes) * 1j, factors)", "real", "silent"),
    Call("unknot.metrics.mig(np.ma.array(codes, mask=codes > 1), factors)", "mask", "silent"),
    Call("unknot.metrics.mig(codes[:0], factors[:0])", "", ""),
    Call("unknot.metrics.mig(codes, factors[:9])", "9", ""),
    Call("unknot.metrics.mig(codes[:, 0], factors)", "codes", ""),
    Call("unknot.metrics.mig(codes * np.nan, factors)", "NaN", ""),
    Call("unknot.metrics.mig(codes * np.inf, factors)", "infinite", ""),
    Call("unknot.metrics.mig(None, factors)", "", "traceback"),
    Call("unknot.metrics.mig('codes', factors)", "", "traceback"),
    Call("unknot.metrics.mig(codes, 'factors')", "", "traceback"),
    Call("unknot.metrics.mig(codes, None)", "factors", ""),
    Call("unknot.metrics.mig(codes, factors, protocol=['a'])", "protocol", ""),
    Call("unknot.metrics.mig(codes, factors, protocol='nobody')", "protocol", ""),
    Call("unknot.metrics.sap(codes, factors.astype(complex))", "real", ""),
]

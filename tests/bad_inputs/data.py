"""Data of one's own."""

from bad_inputs.rows import Bad, Call, bad

COMMANDS = [
    *[
        Bad(("train", "--data", f"{{d}}/{name}"), expected, before)
        for name, expected, before in [
            ("empty.npz", "empty.npz", ""),
            ("text.npz", "text.npz", ""),
            ("locked.npz", "damaged", ""),
            ("empty.npy", "empty.npy", ""),
            ("plain.npy", "plain.npy", ""),
            ("cut.png", "cut.png", ""),
            ("pipe.npz", "a pipe or a device", "hang"),
            ("pipe.npy", "a pipe or a device", "hang"),
            ("nothing", "nothing", ""),
            ("taken", "taken", ""),
            ("images_words.npz", "images_words", ""),
            ("images_objects.npz", "images_objects", ""),
            ("images_flat.npz", "images_flat", ""),
            ("images_none.npz", "images_none", ""),
            ("images_complex.npz", "images_complex", ""),
            ("images_nan.npz", "images_nan", ""),
            ("none.npz", "none.npz", ""),
            ("none/", "none", ""),
        ]
    ],
    *[
        Bad(("train", "--data", "arrays", "--net", "linear", "--set", f"data.path={{d}}/{name}.npz"), expected, before)
        for name, expected, before in [
            ("empty", "empty", ""),
            ("locked", "damaged", ""),
            ("factors_short", "factors", ""),
            ("factors_words", "factors", ""),
            ("names_line", "line break", "traceback"),
            ("names_twice", "names", ""),
            ("names_long", "characters", ""),
            ("names_few", "names", ""),
            ("pipe", "a pipe or a device", "hang"),
            ("no_codes", "images", ""),
        ]
    ],
    bad("train --data dsprites_file --set data.path={d}/locked.npz", "locked", "traceback"),
    bad("data show {d}/locked.npz", "damaged", ""),
    bad("data show [/]", "[/]", "traceback"),
    bad("data show {d}/names_line.npz", "line break", "traceback"),
    bad("data show xysquares --set spacing=[]", "spacing", ""),
    bad("data show xysquares --set spacing=1979-05-27", "spacing", "traceback"),
    bad("data show xysquares --set spacing", "key=value", ""),
    bad("data get [/]", "[/]", "traceback"),
    bad("data remove [/]", "[/]", "traceback"),
    bad("data distances [/]", "[/]", "traceback"),
    bad("data distances nobody", "nobody", ""),
]  # fmt: skip
CALLS = [
    Call("unknot.train(3)", "", "traceback"),
    Call("unknot.train(None)", "", "traceback"),
    Call("unknot.dataset(None)", "", "traceback"),
    Call("unknot.dataset(3)", "", "traceback"),
    Call("unknot.dataset('nobody')", "nobody", ""),
    Call("unknot.dataset('a\\0b')", "", "traceback"),
    Call("unknot.dataset('n' * 300)", "too long", "traceback"),
    Call("unknot.dataset([])", "", "traceback"),
    Call("unknot.dataset([1, 'a'])", "", "traceback"),
    Call("unknot.dataset(np.zeros(3))", "", ""),
    Call("unknot.dataset(np.zeros((0, 8, 8)))", "", ""),
    Call("unknot.dataset(np.zeros((4, 8, 8), complex))", "", ""),
    Call("unknot.dataset(np.full((4, 8, 8), np.nan))", "", ""),
    Call("unknot.dataset(np.zeros((4, 8, 8), object))", "", ""),
    Call("unknot.dataset(np.ma.masked_all((4, 8, 8)))", "mask", "silent"),
    Call("unknot.dataset(torch.zeros(4, 8, 8, dtype=torch.complex64))", "", "silent"),
    Call("unknot.dataset('xysquares', spacing=8).batch(torch.tensor([10**9]))", "rows", "silent"),
    Call("unknot.dataset('xysquares', spacing=8).batch(torch.tensor([-1]))", "rows", "silent"),
    Call("unknot.dataset('xysquares', spacing=[])", "spacing", ""),
    Call("unknot.dataset('xysquares', nothing=3)", "nothing", ""),
]

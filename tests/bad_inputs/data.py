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
            ("pipe.npz", "a pipe or a device", ""),
            ("pipe.npy", "a pipe or a device", ""),
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
            ("names_line", "line break", "silent"),
            ("names_twice", "names", ""),
            ("names_long", "characters", "silent"),
            ("names_few", "names", ""),
            ("pipe", "a pipe or a device", "hang"),
            ("no_codes", "images", ""),
        ]
    ],
    *[
        Bad(("train", "--data", "{d}/pics", "--labels", f"{{d}}/{name}.csv"), expected, before)
        for name, expected, before in [
            ("unknown_picture", "names the picture '9.png', which is not there", ""),
            ("double_picture", "has the picture '0.png' twice", ""),
            ("nan_labels", "missing in all 4 rows", ""),
            ("few_labels", "names one of the 4 pictures, such as '0.png'", ""),
            ("no_labels", "has no label beside the names of pictures", "words"),
            ("head_alone", "needs a line with names of labels", ""),
            ("ragged_labels", "has 2 columns and 3 in row 2", ""),
            ("none", "no such file", "words"),
        ]
    ],
    bad("train --data {d}/mixed --set data.crop=none", "of 2 sizes, such as", ""),
    bad("train --data {d}/broken", "Cannot read the picture '1.png'", ""),
    bad("train --data {d}/many_labels.npz --labels name", "100,001 different values", ""),
    bad("train --data {d}/many_labels.npz --labels names", "did you mean 'name'", ""),
    bad("train --data {d}/pics --set split.kind=published", "published no parts", ""),
    bad("train --data mnist --set data.part=tset", "data.part", ""),
    bad("train --data dsprites_file --set data.path={d}/locked.npz", "locked", ""),
    bad("data show {d}/locked.npz", "damaged", ""),
    bad("data show [/]", "[/]", ""),
    bad("data show {d}/names_line.npz", "line break", ""),
    bad("data show xysquares --set spacing=[]", "spacing", ""),
    bad("data show xysquares --set spacing=1979-05-27", "spacing", ""),
    bad("data show xysquares --set spacing", "key=value", ""),
    bad("data get [/]", "[/]", ""),
    bad("data remove [/]", "[/]", ""),
    bad("data distances [/]", "[/]", ""),
    bad("data distances nobody", "nobody", ""),
]  # fmt: skip
TEXTS = {
    "unknown_picture.csv": "file,a\n0.png,1\n9.png,2\n",
    "double_picture.csv": "file,a\n0.png,1\n0.png,2\n1.png,1\n",
    "nan_labels.csv": "file,a\n0.png,NaN\n1.png,nan\n2.png,\n3.png,NA\n",
    "few_labels.csv": "a\nx\ny\n",
    "no_labels.csv": "file\n0.png\n1.png\n2.png\n3.png\n",
    "head_alone.csv": "file,a\n",
    "ragged_labels.csv": "file,a\n0.png,1,2\n1.png\n",
}
CALLS = [
    Call("unknot.train(3)", "", ""),
    Call("unknot.train(None)", "", ""),
    Call("unknot.dataset(None)", "", "traceback"),
    Call("unknot.dataset(3)", "", "traceback"),
    Call("unknot.dataset('nobody')", "nobody", ""),
    Call("unknot.dataset('a\\0b')", "", ""),
    Call("unknot.dataset('n' * 300)", "too long", ""),
    Call("unknot.dataset([])", "", "traceback"),
    Call("unknot.dataset([1, 'a'])", "", "traceback"),
    Call("unknot.dataset(np.zeros(3))", "", "traceback"),
    Call("unknot.dataset(np.zeros((0, 8, 8)))", "", "traceback"),
    Call("unknot.dataset(np.zeros((4, 8, 8), complex))", "", "traceback"),
    Call("unknot.dataset(np.full((4, 8, 8), np.nan))", "", "traceback"),
    Call("unknot.dataset(np.zeros((4, 8, 8), object))", "", "traceback"),
    Call("unknot.dataset(np.ma.masked_all((4, 8, 8)))", "mask", "traceback"),
    Call("unknot.dataset(torch.zeros(4, 8, 8, dtype=torch.complex64))", "", ""),
    Call("unknot.dataset('xysquares', spacing=8).batch(torch.tensor([10**9]))", "rows", "silent"),
    Call("unknot.dataset('xysquares', spacing=8).batch(torch.tensor([-1]))", "rows", "silent"),
    Call("unknot.dataset('xysquares', spacing=[])", "spacing", ""),
    Call("unknot.dataset('xysquares', nothing=3)", "nothing", ""),
]

"""What to try: texts of the words that our files have, values in tables, and files with damage."""

from hypothesis import strategies as st

WORDS = st.sampled_from(
    [
        *("objective", "beta", "data", "net", "optim", "lr", "steps", "seeds", "split", "sampler"),
        *("kind", "linear", "end", "start", "name", "preset", "likelihood", "vae", "beta_vae"),
        *("=", ".", "[", "]", "{", "}", ",", '"', "'", "\n", "#", "..", "-", "+", "*", "/", "=1"),
        *("1", "0.5", "1e999", "nan", "inf", "true", "1979-05-27", "07:32:00", "9" * 45, "\0"),
        *("[[grid]]", "[train]", "[across]", "zip", "metrics", "protocol", "members", "version"),
    ]
)  # fmt: skip
TEXT = st.lists(WORDS | st.text(max_size=3), max_size=14).map("".join)
FORMULA_WORDS = st.sampled_from(
    [
        *("result(", "'l_vae'", '"l_vae steps=3"', "'l_vea'", "'l_vae ='", ")", ").", "beta_hat"),
        *("result('l_vae').beta_hat", "result('l_vae optim.lr=0.1').loss", "objective.beta"),
        *("+", "-", "*", "/", "**", "(", ")", " ", "=", ",", ".", "steps", "batch", "net", "x"),
        *("0", "1", "2.5", "1e308", "9" * 45, "if", "lambda", "[", "]", "#", "\n", "\\", "not "),
    ]
)  # fmt: skip
FORMULAS = st.lists(FORMULA_WORDS | st.text(max_size=2), max_size=10).map("".join)
PLAIN = st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
SCALARS = st.none() | PLAIN


def nested(leaves):
    """Lists and tables of leaves."""
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
        max_leaves=6,
    )


VALUES = nested(SCALARS)
TABLES = st.dictionaries(WORDS, VALUES, max_size=5)


class Damaged(bytes):
    """A file with damage, shown by what was done to it."""

    def __new__(cls, whole, changes):
        data = bytearray(whole)
        for place, byte, how in changes:
            if how == "flip" and place < len(data):
                data[place] ^= byte
            elif how == "cut":
                del data[place:]
            else:
                data[place:place] = bytes([byte])
        self = super().__new__(cls, data)
        self.changes = changes
        return self

    def __repr__(self):
        return f"Damaged(whole, {self.changes})"


def damaged(whole):
    """A file with some of its bytes changed, cut off or doubled."""
    change = st.tuples(
        st.integers(0, len(whole) - 1),
        st.integers(1, 255),
        st.sampled_from(["flip", "cut", "insert"]),
    )
    return st.lists(change, min_size=1, max_size=4).map(lambda changes: Damaged(whole, changes))

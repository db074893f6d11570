"""Other verbs."""

from bad_inputs.rows import ESC, Bad, bad

COMMANDS = [
    bad("gallery [/]", "[/]", ""),
    bad("gallery --steps 0", "steps", ""),
    bad("list", "", "", 2),
    bad("list [/]", "[/]", ""),
    bad("learn-loss --data [/]", "[/]", ""),
    bad("learn-loss --radius -1", "radius", ""),
    bad("learn-loss --data nobody", "nobody", ""),
    Bad(("nobody",), "nobody", ""),
    Bad(("[/]",), "[/]", ""),
    Bad((ESC,), "No such command", ""),
    Bad(("train", ESC + ".toml"), "\\x1b", ""),
]  # fmt: skip

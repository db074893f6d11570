"""Options that tests usually give."""


def without(words, **usual):
    """Options that are usual, but for those among the words: a command takes each once."""
    left = {f"--{name}": value for name, value in usual.items() if f"--{name}" not in words}
    return [word for pair in left.items() for word in pair]

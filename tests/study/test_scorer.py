"""What a process that scores and whoever started it say to each other."""

from unknot.study import scorer


def test_messages_come_whole_or_not_at_all(tmp_path):
    path = tmp_path / "messages"
    with path.open("wb") as stream:
        scorer.write(stream, {"event": "rows"}, bytes(range(8)))
        scorer.write(stream, {"event": "end"})
    whole = path.read_bytes()
    with path.open("rb") as stream:
        assert scorer.read(stream) == ({"event": "rows"}, bytearray(range(8)))
        assert scorer.read(stream) == ({"event": "end"}, bytearray())
        assert scorer.read(stream) is None
    for length in range(whole.index(b"\n") + 9):
        path.write_bytes(whole[:length])
        with path.open("rb") as stream:
            assert scorer.read(stream) is None

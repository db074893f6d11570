"""What a worker and whoever started it say to each other."""

from unknot.studies.execute import worker


def test_messages_come_whole_or_not_at_all(tmp_path):
    path = tmp_path / "messages"
    with path.open("wb") as stream:
        worker.write(stream, {"event": "ask"}, bytes(range(8)))
        worker.write(stream, {"event": "end"})
    whole = path.read_bytes()
    with path.open("rb") as stream:
        assert worker.read(stream) == ({"event": "ask"}, bytearray(range(8)))
        assert worker.read(stream) == ({"event": "end"}, bytearray())
        assert worker.read(stream) is None
    for length in range(whole.index(b"\n") + 9):
        path.write_bytes(whole[:length])
        with path.open("rb") as stream:
            assert worker.read(stream) is None

"""Archives: a study or a run in one zip file, to publish and to read anywhere.

The members of the file are those of the folder: records, curves, weights, and `manifest.json` with
the SHA-256 of each. Unpacked by any program it is a study or run folder again.
"""

"""``python -m unknot`` is the ``unknot`` command."""

from unknot.cli.entry import main

if __name__ == "__main__":
    main()

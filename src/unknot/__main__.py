"""``python -m unknot`` is the ``unknot`` command."""

from unknot.cli.main import main

if __name__ == "__main__":
    main()

"""The entry point of the command: it hears Ctrl-C before anything heavy is imported."""

from unknot.cli import interrupts


def main() -> None:
    """Run the command."""
    interrupts.listen(at_once=True)
    from unknot.cli.main import main as run

    run()

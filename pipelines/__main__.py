"""The console script: `headway`, and `python -m pipelines`."""

from answers.interrupts import ended_by_an_interrupt


def main() -> None:
    """Import the command line, which takes a second, and run it."""
    with ended_by_an_interrupt():
        from pipelines import cli
    cli.main()


if __name__ == "__main__":
    main()

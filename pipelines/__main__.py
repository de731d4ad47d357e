"""The console script: `headway`, and `python -m pipelines`.

What the command line imports takes long enough to be interrupted: Ctrl-C then just ends the
process, as it ends any other, instead of showing where it stood.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    """Import the command line, and run it."""
    with _ended_by_an_interrupt():
        from pipelines import cli
    cli.main()


@contextmanager
def _ended_by_an_interrupt() -> Iterator[None]:
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # ignored, as in the background of a script
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    main()

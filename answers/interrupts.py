"""Ctrl-C before there is anything to end: the command line and the pages take long to begin."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_an_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process as it ends any other, instead of showing where it stood."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # ignored, as in the background of a script
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)

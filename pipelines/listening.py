"""Where the services of a site listen. Apart from them, since options need it and start fast."""

import socket
from dataclasses import dataclass

from metrics.errors import UsageError


@dataclass(frozen=True)
class Listening:
    """Where the services listen: one host, a port each."""

    host: str
    dagster: int
    pages: int
    gate: int

    @property
    def ports(self) -> dict[str, int]:
        """Every port, by the option that says it."""
        return {"--port": self.dagster, "--app-port": self.pages, "--gate-port": self.gate}

    def address(self, port: int) -> str:
        """The address of one of the ports."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{port}"


SITE = Listening("127.0.0.1", dagster=3000, pages=8501, gate=8632)
"""Where they listen unless told otherwise."""


def check_addresses(at: Listening) -> None:
    """See whether all are free, and each another one. Raises UsageError, which names the option."""
    options: dict[int, str] = {}
    for option, port in at.ports.items():
        if port in options:
            told = f"{options[port]} and {option} are both {port}"
            raise UsageError(f"{told}; give each a port of its own")
        options[port] = option
        check_address(at.host, port, f"{option} or --host")


def check_address(host: str, port: int, option: str) -> None:
    """See whether it is free, before what takes long. Raises UsageError, which names the option."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, OverflowError) as e:
        raise UsageError(
            f"{host}:{port} cannot be listened on ({getattr(e, 'strerror', None) or e}); "
            f"say another with {option}"
        ) from e

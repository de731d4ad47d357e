"""Where the services of a site listen. Apart from them, since options need it and start fast."""

from dataclasses import dataclass


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

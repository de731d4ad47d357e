"""Who may write over HTTP: bearer tokens, of which the site keeps only hashes.

`HEADWAY_HOME/tokens.json` is a list of {holder, role, sha256}; sha256 is that of the token, in hex.
Tokens are long random strings, so a plain hash suffices; they are compared in constant time.
"""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from pathlib import Path

from metrics.errors import HeadwayError

OVERRIDING_ROLES = ("lead", "oncall")
"""Roles that may override a freeze."""


@dataclass(frozen=True)
class Holder:
    """Whose token it is, and what that person may do."""

    name: str
    role: str

    @property
    def may_override(self) -> bool:
        """Whether the role may override a freeze."""
        return self.role in OVERRIDING_ROLES


def holder_of(token: str, file: Path) -> Holder | None:
    """Whom a token names; None where it names nobody.

    Raises HeadwayError where the file cannot be read. It never says what the token was.
    """
    given = hashlib.sha256(token.encode()).hexdigest()
    found = None
    for name, role, known in _known(file):
        # Every hash is compared, so that the time taken tells nothing.
        if hmac.compare_digest(given, known):
            found = Holder(name, role)
    return found


_SHA256 = re.compile("[0-9a-f]{64}")


def _known(file: Path) -> list[tuple[str, str, str]]:
    if not file.exists():
        return []
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        known = [(str(e["holder"]), str(e["role"]), str(e["sha256"]).lower()) for e in entries]
        if not all(name.strip() and _SHA256.fullmatch(hashed) for name, _, hashed in known):
            raise ValueError("a nameless holder, or what is no SHA-256")
        return known
    except (OSError, ValueError, TypeError, KeyError) as e:
        raise HeadwayError(
            f"{file.name}: is no list of holder, role and sha256; nobody can override over HTTP"
        ) from e

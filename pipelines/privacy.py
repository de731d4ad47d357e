"""People's names replaced before anything is stored, where the policy asks for it.

A name becomes the first 16 hex digits of HMAC-SHA256(salt, name) (RFC 2104): the same in every
source, and not to be found by trying names without the salt. The salt stays in memory.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.collecting import Privacy
from metrics.errors import UsageError
from pipelines.records import BadRecord, plain_text

SALT_VARIABLE = "HEADWAY_USER_SALT"
LEAST_SALT_CHARS = 16
"""A shorter salt can be found by trying."""
PSEUDONYM_DIGITS = 16
USER_FIELD = "user"


@dataclass(frozen=True)
class Salt:
    """The secret that names are hashed with; never shown."""

    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, privacy: Privacy, root: Path) -> "Salt | None":
        """The salt that the policy asks for, a relative `salt_file` lying below `root`; None where
        it asks for none. Raises UsageError where it cannot be read."""
        if not privacy.hash_users:
            return None
        text = _read(root / privacy.salt_file) if privacy.salt_file else _environment()
        if len(text) < LEAST_SALT_CHARS:
            raise UsageError(
                f"the salt for user names has fewer than {LEAST_SALT_CHARS} characters; make one"
                " with: openssl rand -hex 32"
            )
        return cls(text.encode())

    def pseudonym(self, name: object) -> object:
        """What is stored in place of a name. What is no name becomes what no record may hold."""
        try:
            return self.digest(plain_text(name).encode())[:PSEUDONYM_DIGITS]
        except BadRecord:
            return []

    def hide(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record's fields with the user's name replaced."""
        if fields.get(USER_FIELD) is None:
            return fields
        return {**fields, USER_FIELD: self.pseudonym(fields[USER_FIELD])}

    def digest(self, content: bytes) -> str:
        """The whole keyed digest, in hex."""
        return hmac.new(self.secret, content, hashlib.sha256).hexdigest()


def withheld(text: str) -> str:
    """What quarantine keeps of text that is no record, and may hold a name anywhere."""
    return f"({len(text)} characters withheld: user names are hashed)"


def _environment() -> str:
    found = os.environ.get(SALT_VARIABLE, "").strip()
    if not found:
        raise UsageError(
            f"the policy hashes user names (privacy.hash_users), and there is no salt: name a"
            f" salt_file beside it, or set {SALT_VARIABLE}. Nothing was ingested"
        )
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as e:
        told = e.strerror if isinstance(e, OSError) else "it is no UTF-8 text"
        raise UsageError(
            f"{path}: the salt for user names cannot be read ({told}); make one with"
            " `openssl rand -hex 32`, readable by Headway only. Nothing was ingested"
        ) from e

"""Streamlit's own files, straight from the disk's cache.

A first view takes 150 of them, and Streamlit's handler several turns of a thread pool for each:
together a quarter of a second on two cores in which the page waits.
"""

import mimetypes
from pathlib import Path

import streamlit
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOREVER = {"Cache-Control": "public, immutable, max-age=31536000"}
"""Their names change with their content."""

_STATIC = Path(streamlit.__file__).parent / "static"
_FILES = {
    f"/{path.relative_to(_STATIC).as_posix()}": path
    for path in (_STATIC / "static").rglob("*")
    if path.is_file()
}


class Assets:
    """Answers for these files; whatever else is asked is passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        found = _FILES.get(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        kind, _ = mimetypes.guess_type(found)
        await Response(found.read_bytes(), media_type=kind, headers=FOREVER)(scope, receive, send)

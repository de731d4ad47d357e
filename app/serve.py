"""Serving the pages: Streamlit at a host and a port, whose first view finds everything made."""

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from streamlit.web import bootstrap

from answers.interrupts import ended_by_an_interrupt
from app.assets import Assets
from app.warming import keep_warm, warm

SCRIPT = Path(__file__).with_name("streamlit_app.py")


def main() -> None:
    """Serve at the host and the port that are named, and print the address once all is made."""
    _, host, port = sys.argv

    @asynccontextmanager
    async def told(_: st.App) -> AsyncIterator[None]:
        threading.Thread(target=keep_warm, daemon=True).start()
        print(f"http://{host}:{port}", flush=True)
        yield

    routes = [Route("/home", to_the_first_page)]
    served = st.App(SCRIPT, lifespan=told, routes=routes, middleware=[Middleware(Assets)])
    options = {"server.address": host, "server.port": int(port), "logger.hideWelcomeMessage": True}
    bootstrap.load_config_options(options)
    with ended_by_an_interrupt():
        warm(SCRIPT)
    with suppress(KeyboardInterrupt):  # Ctrl-C: the server has ended in order by then
        served.run(config=options)


async def to_the_first_page(request: Request) -> RedirectResponse:
    """From where somebody looks for the first page; Streamlit has it at `/` alone."""
    return RedirectResponse(f"./?{request.url.query}")

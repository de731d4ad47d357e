"""The gate over HTTP, for rollout pipelines: the same answers as `headway gate` and `budget`.

Reads need no secret. Writing an override needs a bearer token, which is never logged. It reads the
published mart and the journal only, and notes in the journal what it held, so it never stops the
pipeline.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.middleware.base import RequestResponseEndpoint

from answers import budgets, freezes, gate, questions
from answers.clock import now_us
from answers.home import Home
from answers.journal import Journal
from answers.moments import moment_us, rfc3339
from app.exposition import exposition
from app.serving import Serving
from app.tokens import Holder, holder_of
from metrics.documents import closest
from metrics.errors import HeadwayError, NothingPublished, PolicyError, UsageError
from metrics.rulings import Kind
from metrics.scope import Scope

Change = Annotated[str, Query(description="The type of change.", max_length=100)]
ScopeText = Annotated[
    str, Query(description="fleet, cluster=, tier=, tenant= or job=.", max_length=300)
]
AsOf = Annotated[
    str | None, Query(description="The moment judged, RFC 3339. Default: now.", max_length=64)
]


LONGEST_BODY = 1 << 20
"""Bytes of a POST."""


class Problem(BaseModel):
    """What was wrong with a question."""

    detail: str


class Decision(BaseModel):
    """What the gate decided, and why."""

    decision: str
    change: str
    scope: str
    as_of: str
    data_through: str | None
    coverage: float | None
    blocking: list[dict[str, Any]]
    warnings: list[str]
    override: dict[str, Any] | None
    explanation: str


class WebhookMetadata(BaseModel):
    """What a rollout says about itself."""

    model_config = ConfigDict(extra="allow")

    change: str = Field(max_length=100)
    scope: str = Field(default="fleet", max_length=300)

    @model_validator(mode="after")
    def _nothing_is_misspelt(self) -> Self:
        for name in self.model_extra or {}:
            if hint := closest(name.lower(), ("change", "scope")):
                raise ValueError(f"{name}: no such key{hint}")
        return self


class Webhook(BaseModel):
    """A rollout's question, as Flagger posts it."""

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    namespace: str | None = None
    phase: str | None = None
    metadata: WebhookMetadata


class Override(BaseModel):
    """A change that shall pass until a moment."""

    model_config = ConfigDict(extra="forbid")

    change: str = Field(max_length=100)
    scope: str = Field(default="fleet", max_length=300)
    until: str = Field(max_length=64)
    why: str = Field(min_length=1, max_length=1000)


Responses = dict[int | str, dict[str, Any]]
WRONG: Responses = {422: {"model": Problem}}
WRONG_OR_UNREADABLE: Responses = WRONG | {503: {"model": Problem}}
TORN: Responses = {400: {"model": Problem}, 413: {"model": Problem}}
"""A body that is no JSON, or too long."""
HELD: Responses = {403: {"model": Decision}, **TORN, **WRONG}
NOT_THERE: Responses = {404: {"model": Problem}, **WRONG_OR_UNREADABLE}
NOT_ALLOWED: Responses = {401: {"model": Problem}, 403: {"model": Problem}, **TORN, **WRONG}


def create() -> FastAPI:
    """The application of the home that HEADWAY_HOME names."""
    return application(Home.at())


def application(home: Home) -> FastAPI:
    """The application of a home."""
    serving = Serving(home)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        serving.close()

    app = FastAPI(title="Headway gate", version="1", lifespan=lifespan)
    _report_errors(app)
    app.middleware("http")(_short_only)
    for routes in (
        _deciding(home, serving),
        _reading(serving),
        _overriding(home, serving),
        _watching(serving),
    ):
        app.include_router(routes)
    return app


async def _short_only(request: Request, go_on: RequestResponseEndpoint) -> Response:
    """Refuse a body before it is read into memory: whoever asks a question needs no long one."""
    if request.method == "POST":
        length = request.headers.get("content-length")
        if length is None or int(length) > LONGEST_BODY:
            told = f"a body is at most {LONGEST_BODY:,} bytes long, and its Content-Length says so"
            return JSONResponse({"detail": told}, 413)
    return await go_on(request)


def _report_errors(app: FastAPI) -> None:
    @app.exception_handler(UsageError)
    def wrong_question(_: Request, error: UsageError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        told = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
        )
        return JSONResponse({"detail": told}, 422)

    @app.exception_handler(PolicyError)
    @app.exception_handler(HeadwayError)
    @app.exception_handler(OSError)
    def unreadable(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 503)


def _deciding(home: Home, serving: Serving) -> APIRouter:
    routes = APIRouter()

    def decide(change: str, scope: str, as_of: str | None) -> dict[str, Any]:
        question = gate.Question(change, Scope.parse(scope), _moment(as_of))
        try:
            with serving.turn() as (facts, rulings):
                answer = gate.decide(facts, rulings, question)
        except (HeadwayError, OSError) as e:
            return gate.unreadable(home, question, e)
        if as_of is None:
            gate.note_refusal(Journal(home), question, answer)
        return answer

    asked = [Depends(_asked_of("change", "scope", "as_of"))]

    @routes.get("/v1/gate", response_model=Decision, responses=WRONG, dependencies=asked)
    def ask(change: Change, scope: ScopeText = "fleet", as_of: AsOf = None) -> dict[str, Any]:
        """May a change start? Always 200, the decision being inside."""
        return decide(change, scope, as_of)

    @routes.post("/v1/gate/webhook", response_model=Decision, responses=HELD)
    def ask_by_webhook(asked: Webhook, response: Response) -> dict[str, Any]:
        """May a rollout go on? 200 to allow, 403 to deny and when unknown."""
        answer = decide(asked.metadata.change, asked.metadata.scope, None)
        response.status_code = 200 if answer["decision"] == "allow" else 403
        return answer

    return routes


def _reading(serving: Serving) -> APIRouter:
    routes = APIRouter()

    asked = [Depends(_asked_of("scope", "slo", "as_of"))]

    @routes.get("/v1/budgets", responses=WRONG_OR_UNREADABLE, dependencies=asked)
    def list_budgets(
        scope: ScopeText = "fleet",
        slo: Annotated[str | None, Query(max_length=300)] = None,
        as_of: AsOf = None,
    ) -> list[dict[str, Any]]:
        """Error budgets, as `headway budget --format json` has them."""
        with serving.turn() as (facts, _):
            found = budgets.reports(facts, Scope.parse(scope), _moment(as_of), slo)
            return [report.as_json() for report in found]

    @routes.get("/v1/jobs/{job}", responses=NOT_THERE)
    def show_job(job: str) -> Any:
        """One job: where its wall-clock went, and its budgets."""
        with serving.turn() as (facts, _):
            if job not in facts.jobs:
                return JSONResponse({"detail": f"{job}: no such job"}, 404)
            found = budgets.reports(facts, Scope(job=job), now_us())
            answer = questions.job(facts.mart, job)
            return answer | {"budgets": [report.as_json() for report in found]}

    return routes


def _overriding(home: Home, serving: Serving) -> APIRouter:
    routes = APIRouter()

    @routes.post("/v1/overrides", status_code=201, responses=NOT_ALLOWED)
    def override(asked: Override, holder: Annotated[Holder | None, Depends(_holder(home))]) -> Any:
        """Let a change pass a freeze until a moment; it stands in the journal."""
        if holder is None:
            return JSONResponse(
                {"detail": "say who you are: Authorization: Bearer TOKEN"},
                401,
                {"WWW-Authenticate": "Bearer"},
            )
        if not holder.may_override:
            return JSONResponse({"detail": f"role {holder.role} may not override"}, 403)
        policy = home.policy()
        gate.check_change(policy, asked.change)
        until_us = moment_us(asked.until, "until")
        gate.check_until(policy, until_us, now_us())
        body = {"change": asked.change, "until_us": until_us, "role": holder.role}
        scope = Scope.parse(asked.scope)
        budgets.check_written(serving.turn(), scope)
        written = Journal(home).append(Kind.OVERRIDE, holder.name, asked.why, scope, body)
        return {"id": written.id, "who": written.who, "until": rfc3339(until_us)}

    return routes


def _watching(serving: Serving) -> APIRouter:
    routes = APIRouter()

    @routes.get("/metrics", response_class=Response)
    def metrics() -> Response:
        """Budgets for Prometheus, under sloth's names."""
        with serving.turn() as (facts, _):
            at_us = now_us()
            found = {
                (report.series.slo, report.series.scope): report
                for scope in freezes.scopes(facts)
                for report in budgets.reports(facts, scope, at_us)
            }
            text = exposition(found.values())
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get("/healthz")
    def healthz() -> dict[str, str]:
        """The server runs."""
        return {"status": "ok"}

    @routes.get("/readyz", responses={503: {"model": Problem}})
    def readyz() -> dict[str, str]:
        """Something was published that can be read."""
        with serving.turn() as (facts, _):
            if facts.data_through_us is None:
                raise NothingPublished("what was published is empty: ingest records first")
            return {"status": "ok", "data_through": rfc3339(facts.data_through_us) or ""}

    return routes


def _asked_of(*known: str) -> Any:
    """What refuses a parameter that would say nothing: a misspelt scope would be the fleet."""

    def check(request: Request) -> None:
        for name in request.query_params:
            if name not in known:
                raise UsageError(
                    f"{name}: no such parameter{closest(name, known)}; there are {', '.join(known)}"
                )
            if len(request.query_params.getlist(name)) > 1:
                raise UsageError(f"{name}: is given more than once; say it once")

    return check


def _moment(as_of: str | None) -> int:
    return now_us() if as_of is None else moment_us(as_of)


def _holder(home: Home) -> Any:
    def holder(authorization: Annotated[str | None, Header()] = None) -> Holder | None:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return None
        return holder_of(token, home.root / "tokens.json")

    return holder

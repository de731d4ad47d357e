"""Range queries to a Prometheus server, each answered whole or refused with what to do about it."""

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import requests
from prometheus_api_client.exceptions import PrometheusApiClientException
from prometheus_api_client.prometheus_connect import PrometheusConnect
from pydantic import BaseModel, FiniteFloat, Strict, TypeAdapter
from requests.auth import AuthBase
from urllib3.exceptions import ReadTimeoutError
from urllib3.util.retry import Retry

from metrics.collecting import Prometheus
from metrics.errors import PrometheusUnavailable, UsageError

SECRET_VARIABLE = "HEADWAY_PROMETHEUS_CREDENTIALS"
WORTH_ANOTHER_TRY = (429, 500, 502, 503, 504)
PAUSE_S = 0.5
"""Before the second try again; it doubles with each."""

CLOCK = "vector(time())"

ABOUT_THE_QUERY = "PromQL info:"
"""Remarks on how a query is written come as warnings too (Prometheus 2.48 on)."""

Labels = dict[str, str]
Point = tuple[Annotated[FiniteFloat, Strict()], float]
"""A second since 1970, and a value: NaN and infinities among them."""


class _Moment(BaseModel):
    """A series of an instant query's answer."""

    value: Point


class _Row(BaseModel):
    """A series of a range query's answer."""

    metric: Labels
    values: list[Point]


_MOMENTS = TypeAdapter(tuple[_Moment])
_ROWS = TypeAdapter(list[_Row])


@dataclass(frozen=True)
class Series:
    """One series of an answer: its labels, and (second since 1970, value) in order."""

    labels: Labels
    values: list[tuple[int, float]]


class Server:
    """A Prometheus that answers range queries."""

    def __init__(self, settings: Prometheus, url: str, secret: str | None) -> None:
        self._settings = settings
        self._url = url
        session = requests.Session()
        session.hooks["response"].append(self._check)
        session.auth = _Secret(secret) if secret else None
        retry = Retry(
            total=settings.retries,
            backoff_factor=PAUSE_S,
            status_forcelist=WORTH_ANOTHER_TRY,
            raise_on_status=False,
            # It may ask for hours, and the warehouse is held meanwhile.
            respect_retry_after_header=False,
        )
        self._connection = PrometheusConnect(
            url,
            session=session,
            retry=retry,
            timeout=settings.timeout_s,
        )

    def query(self, template: str) -> str:
        """The PromQL of a template: its placeholders filled in; a cluster's dot matches a dot."""
        named = self._settings.cluster
        return template.replace(
            "{cluster}", ".*" if named is None else named.replace(".", "[.]")
        ).replace("{step}", f"{self._settings.step_s}s")

    def now_s(self) -> int:
        """The second that the server's own clock shows, by which it stamps what it scrapes.

        Raises PrometheusUnavailable and UsageError as `ask` does.
        """
        with self._told(CLOCK):
            (found,) = _MOMENTS.validate_python(self._connection.custom_query(CLOCK))
            return int(found.value[1])

    def ask(self, name: str, template: str, moments: range) -> list[Series]:
        """What the query yields at these seconds.

        Raises PrometheusUnavailable where no answer comes or it is only a part, UsageError where
        Prometheus refuses the query; both name it.
        """
        with self._told(name):
            rows = _ROWS.validate_python(
                self._connection.custom_query_range(
                    self.query(template),
                    datetime.fromtimestamp(moments[0], UTC),
                    datetime.fromtimestamp(moments[-1], UTC),
                    str(moments.step),
                )
            )
            found = [
                Series(row.metric, [(round(at), value) for at, value in row.values]) for row in rows
            ]
            if any(at not in moments for series in found for at, _ in series.values):
                raise _Incomplete("it speaks of moments that were not asked for")
            return found

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Translate what went wrong; the library's own texts, which may hold a secret, end here."""
        try:
            yield
        except _Refused as e:
            raise UsageError(f"query {name}: Prometheus at {self._url} refuses it: {e}") from None
        except _Incomplete as e:
            raise PrometheusUnavailable(
                f"query {name}: {self._url} gave no whole answer ({e}); nothing of this chunk was"
                " stored, and the next pull goes on from it"
            ) from None
        except (PrometheusApiClientException, ValueError, KeyError, TypeError):
            # Before RequestException, since what is no JSON is one of both.
            raise PrometheusUnavailable(
                f"query {name}: what {self._url} answers is not what Prometheus' API says, or was"
                " cut off; is the url that of Prometheus?"
            ) from None
        except requests.RequestException as e:
            if _took_too_long(e):
                raise PrometheusUnavailable(
                    f"query {name}: no answer from {self._url} within {self._settings.timeout_s} s;"
                    " ask for less at once (prometheus.chunk_s) or wait longer (timeout_s)"
                ) from None
            raise PrometheusUnavailable(
                f"query {name}: cannot be asked at {self._url} ({type(e).__name__}): is the server"
                " up, and the url that of Prometheus? The next pull goes on from where this stopped"
            ) from None

    @staticmethod
    def _check(response: requests.Response, *_: Any, **__: Any) -> None:
        """Refuse an error, and an answer that says that it is only a part of one."""
        if response.is_redirect:
            return
        try:
            said = response.json()
        except ValueError:
            said = {}
        said = said if isinstance(said, dict) else {}
        status = response.status_code
        if status in (401, 403):
            raise _Refused(
                f"HTTP {status}; its token, or user:password, goes into"
                f" prometheus.credentials_file or {SECRET_VARIABLE}"
            )
        if status in (400, 422) and "error" in said:
            raise _Refused(str(said["error"]))
        if status != 200:
            raise _Incomplete(f"HTTP {status} {said.get('error', '')}".strip())
        warnings = [str(warning) for warning in said.get("warnings") or ()]
        if parts := [warning for warning in warnings if not warning.startswith(ABOUT_THE_QUERY)]:
            raise _Incomplete("it warns: " + "; ".join(parts))


def _took_too_long(error: requests.RequestException) -> bool:
    """Whether it waited in vain; requests calls that an error of the connection where it was tried
    again, and where it happened in the midst of an answer."""
    told = error.args[0] if error.args else None
    return isinstance(error, requests.Timeout) or isinstance(
        getattr(told, "reason", told), ReadTimeoutError
    )


class _Secret(AuthBase):
    """A bearer token, or `user:password`, put into each request; never shown."""

    def __init__(self, secret: str) -> None:
        user, colon, password = secret.partition(":")
        basic = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._header = f"Basic {basic}" if colon else f"Bearer {secret}"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = self._header
        return request


class _Refused(Exception):
    """Prometheus' own words on why a query is wrong."""


class _Incomplete(Exception):
    """An error of the server, or a partial answer."""


def secret_of(settings: Prometheus, root: Path) -> str | None:
    """A bearer token, or `user:password`, from the policy's file or the environment; None where
    there is neither. Raises UsageError where the file cannot be read."""
    if settings.credentials_file is None:
        return os.environ.get(SECRET_VARIABLE, "").strip() or None
    path = root / settings.credentials_file
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as e:
        told = e.strerror if isinstance(e, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path}: prometheus.credentials_file cannot be read ({told})") from e

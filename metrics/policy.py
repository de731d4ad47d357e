"""What people decide and the numbers depend on, each section a model of its own.

The default lies beside this module in `slo.yaml`, together with the objectives; a site replaces the
file whole. Defaults here are those of that file, for sites whose file says nothing of a section.
`read_policy` finds every fault of a file, `load_policy` refuses one that has any.
"""

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, Field, field_validator, model_validator

from metrics.collecting import Privacy, Prometheus
from metrics.conventions import DAY_US, HOUR_US, US_PER_S, Category, ChargedCause, Component
from metrics.documents import Document, Fault, Part, checked, closest, read_documents
from metrics.errors import PolicyError
from metrics.openslo import Slo

DEFAULT_POLICY_FILE = Path(__file__).with_name("slo.yaml")

MEASURES = ("goodput", "time_to_restart", "queue_wait", "short_job_success")
"""What an SLO document may be about; its targets and names are the site's."""

REFUSED = (
    (
        r"utili[sz]ation|occupancy|gpu[-_ ]?busy",
        "cluster utilization",
        "maximising it removes the reserves that every other objective lives on",
    ),
    (
        r"availability|uptime",
        "availability of the platform's services",
        "it answers a question that no training job asks",
    ),
    (
        r"\b[mh]fu\b|[-_][mh]fu\b|\b[mh]fu[-_]|(model|hardware)[-_ ]flops",
        "MFU or HFU",
        "they depend on the researcher's model and code",
    ),
)
"""(how their names are recognised, what they are, why they are refused)"""

LONGEST_S = 100 * 366 * 24 * 3600
"""A hundred years: no limit is longer."""

Seconds = Annotated[int, Field(gt=0, le=LONGEST_S)]
Share = Annotated[Decimal, Field(ge=0, le=1)]
MOST = 10**12
"""No number of things, and no price, is larger."""
MOST_BYTES = 2**62

Count = Annotated[int, Field(ge=0, le=MOST)]
AtLeastOne = Annotated[int, Field(ge=1, le=MOST)]


def _is_a_name(text: str) -> str:
    if not text.strip() or text != text.strip() or not text.isprintable() or set(text) & set(",="):
        raise ValueError("no name: say something printable, without comma, = and blanks around it")
    return text


Name = Annotated[str, AfterValidator(_is_a_name)]
"""What can be asked for as a scope or a change, and printed."""

Charge = Literal["platform", "job", "nobody"]

WINDOW_HOURS = 720
"""The rolling window of every budget: 30 days."""


class Tier(Part):
    """A class of service: `queue_limit_s` in seconds, None for best effort; higher rank first."""

    name: Name
    rank: int = Field(ge=-MOST, le=MOST)
    preemptible: bool
    queue_limit_s: int | None = Field(default=None, gt=0, le=LONGEST_S)
    aliases: tuple[Name, ...] = ()

    @property
    def queue_limit_us(self) -> int | None:
        """The queue limit in microseconds, None for best effort."""
        return None if self.queue_limit_s is None else self.queue_limit_s * US_PER_S


class Checks(Part):
    """When the numbers' quality is worth a warning, judged on the newest `window_days` of data.

    Steps that go on for up to `clock_slack_s` after an interruption of their attempt are a matter
    of clocks that differ, longer ones are a finding.
    """

    window_days: int = Field(default=7, gt=0, le=36_600)
    quarantine_share: Share = Decimal("0.01")
    unattributed_share: Share = Decimal("0.05")
    silent_jobs: Count = 0
    coverage: Share = Decimal("0.9")
    clock_slack_s: int = Field(default=60, ge=0, le=LONGEST_S)

    @property
    def window_us(self) -> int:
        """The window in microseconds."""
        return self.window_days * DAY_US

    @property
    def clock_slack_us(self) -> int:
        """`clock_slack_s` in microseconds."""
        return self.clock_slack_s * US_PER_S


class Housekeeping(Part):
    """How much of its own past the orchestrator keeps: days, and never more than so many runs."""

    keep_days: int = Field(default=30, gt=0, le=36_600)
    keep_runs: AtLeastOne = 1000


class Retention(Part):
    """How long raw steps are kept before only what they painted is, in days.

    `steps_days` counts from their stamps, `arrival_days` from their delivery; both must be over.
    """

    steps_days: int = Field(default=35, ge=1, le=36_600)
    arrival_days: int = Field(default=1, ge=0, le=36_600)

    @property
    def steps_us(self) -> int:
        """`steps_days` in microseconds."""
        return self.steps_days * DAY_US

    @property
    def arrival_us(self) -> int:
        """`arrival_days` in microseconds."""
        return self.arrival_days * DAY_US


class Classes(Part):
    """From which size and length on a job is large, and below which length it is short."""

    large_gpus: AtLeastOne = 8
    large_duration_s: Seconds = 21600
    short_duration_s: Seconds = 3600

    @property
    def large_duration_us(self) -> int:
        """The least length of a large job in µs."""
        return self.large_duration_s * US_PER_S

    @property
    def short_duration_us(self) -> int:
        """The length in µs that a short job stays below."""
        return self.short_duration_s * US_PER_S


class ChargeRule(Part):
    """Whom lost time is charged to, where all that the rule names fits; what is absent fits all."""

    category: Category | None = None
    component: Component | None = None
    cause: ChargedCause | None = None
    tier: str | None = None
    preemptible: bool | None = None
    charge: Charge

    def fits(self, category: str, component: str, cause: str, tier: Tier | None) -> bool:
        """Whether the rule decides about such a loss of a job of that tier."""
        return (
            self.category in (None, category)
            and self.component in (None, component)
            and self.cause in (None, cause)
            and (self.tier is None or (tier is not None and self.tier == tier.name))
            and (self.preemptible is None or self.preemptible is (tier and tier.preemptible))
        )

    def covers(self, other: "ChargeRule") -> bool:
        """Whether it names nothing that the other does not name alike."""
        named = self.model_dump(exclude={"charge"}, exclude_none=True)
        return named.items() <= other.model_dump(exclude={"charge"}).items()


class Minimum(Part):
    """How much a window must hold before a budget gates."""

    gpu_hours: Count = 100
    events: Count = 10

    @property
    def gpu_us(self) -> int:
        """The least GPU-microseconds."""
        return self.gpu_hours * HOUR_US


class Changes(Part):
    """Types of change: those that a freeze holds, and those that pass even then."""

    held: tuple[Name, ...] = Field(
        default=("firmware", "node_drain", "scheduler_deploy", "maintenance"), min_length=1
    )
    passing: tuple[Name, ...] = ("reliability_fix", "security")

    @property
    def known(self) -> tuple[str, ...]:
        """Every type of change that may be asked about."""
        return self.held + self.passing


class Decisions(Part):
    """How long an override may last, and what needs a second person's approval."""

    longest_override_s: Seconds = 86400
    approval: tuple[Literal["override", "freeze", "thaw", "exclude", "reattribute"], ...] = (
        "exclude",
        "reattribute",
    )

    @property
    def longest_override_us(self) -> int:
        """The longest override in µs."""
        return self.longest_override_s * US_PER_S


class AlertWindow(Part):
    """A pair of windows: burning `budget_percent` of the budget within `long_h` hours alerts.

    The factor is derived: that share of the budget over that share of the 30 days. The short window
    ends the alert soon after the burning ends; the ledger's grain makes an hour the shortest.
    """

    long_h: int = Field(gt=0, le=WINDOW_HOURS)
    short_h: int = Field(gt=0, le=WINDOW_HOURS)
    budget_percent: Decimal = Field(gt=0, le=100)
    severity: Literal["page", "ticket"]

    @property
    def factor(self) -> Fraction:
        """The burn rate from which on it alerts (SRE workbook, chapter 5)."""
        return Fraction(self.budget_percent) / 100 * WINDOW_HOURS / self.long_h


DEFAULT_ALERTS = (
    AlertWindow(long_h=1, short_h=1, budget_percent=Decimal(1), severity="page"),
    AlertWindow(long_h=6, short_h=1, budget_percent=Decimal(5), severity="page"),
    AlertWindow(long_h=24, short_h=2, budget_percent=Decimal(10), severity="ticket"),
    AlertWindow(long_h=72, short_h=6, budget_percent=Decimal(10), severity="ticket"),
)

DEFAULT_CHARGES = (
    ChargeRule(category="job", charge="job"),
    ChargeRule(category="loader", charge="job"),
    ChargeRule(category="preemption", preemptible=True, charge="nobody"),
    ChargeRule(charge="platform"),
)


PLACEHOLDERS = ("path", "job", "step", "bytes_per_s", "most_bytes")
"""What the command of a restore test may be told, in braces."""


class Checkpoints(Part):
    """How durability is proven: which checkpoints are restored, how often, where, how strictly.

    `needs`: which missing state fails a test: none but weights, what a statistically sound resume
    needs, or what a bit-exact one needs. `command`: the arguments that test a checkpoint elsewhere;
    limits that the policy sets must reach it.
    """

    every_days: int = Field(default=7, ge=1, le=36_600)
    older_within_days: int = Field(default=7, ge=0, le=36_600)
    processes: int = Field(default=4, ge=0, le=1024)
    bytes_per_s: int | None = Field(default=None, gt=0, le=MOST_BYTES)
    bytes_per_run: int | None = Field(default=None, gt=0, le=MOST_BYTES)
    nan_allowed: bool = False
    manifest_required: bool = False
    needs: Literal["weights", "sound", "exact"] = "weights"
    largest_expansion: AtLeastOne = 100
    command: tuple[str, ...] = ()
    command_limit_s: Seconds = 86_400

    @field_validator("command")
    @classmethod
    def _names_what_is_known(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        named = [name for part in command for name in _placeholders(part)]
        for name in named:
            if name not in PLACEHOLDERS:
                known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                raise ValueError(f"{{{name}}} means nothing; known are {known}")
        if command and "path" not in named:
            raise ValueError("names no {path}: it could not know which checkpoint to test")
        return command

    @model_validator(mode="after")
    def _limits_reach_the_command(self) -> Self:
        limits = (
            ("bytes_per_s", self.bytes_per_s, "bytes_per_s", "--bytes-per-s"),
            ("bytes_per_run", self.bytes_per_run, "most_bytes", "--most-bytes"),
        )
        named = [name for part in self.command for name in _placeholders(part)]
        for limit, value, placeholder, option in limits:
            if self.command and value is not None and placeholder not in named:
                hint = f'write {option}, "{{{placeholder}}}" into it'
                raise ValueError(f"{limit} does not reach the command: {hint}")
        return self

    @property
    def every_us(self) -> int:
        """`every_days` in microseconds."""
        return self.every_days * DAY_US

    @property
    def older_within_us(self) -> int:
        """`older_within_days` in microseconds."""
        return self.older_within_days * DAY_US


def _placeholders(text: str) -> Iterator[str]:
    for _, name, form, conversion in Formatter().parse(text):
        if name is not None:
            if form or conversion:
                raise ValueError(f"{text}: write a placeholder as {{name}} alone")
            yield name


class Price(Part):
    """What a GPU-hour costs, for people who decide by cost; never part of a budget."""

    per_gpu_hour: Decimal = Field(default=Decimal("2.50"), ge=0, le=MOST)
    currency: Name = "USD"


class Keeping(Part):
    """Which checkpoints stay: the newest, one of each of the last hours and days, milestones."""

    newest: int = Field(default=3, ge=1, le=10_000)
    hourly: int = Field(default=24, ge=0, le=10_000)
    daily: int = Field(default=7, ge=0, le=10_000)
    milestone_hours: int = Field(default=168, ge=1, le=100_000)


class Planning(Part):
    """How checkpoints are planned from measurements.

    Fewer than `least_interruptions` of a job say too little of how often it fails: then the fleet's
    rate counts. Intervals that cost at most `flat_points` (a share of the wall) more than the best
    are as good, and a first-order formula that is off by more than `formula_points` is said to be.
    """

    least_interruptions: AtLeastOne = 5
    confidence: Decimal = Field(default=Decimal("0.95"), gt=0, lt=1)
    flat_points: Decimal = Field(default=Decimal("0.005"), gt=0, lt=1)
    formula_points: Decimal = Field(default=Decimal("0.01"), gt=0, lt=1)
    keep: Keeping = Keeping()


class Waits(Part):
    """How waits and loans are judged.

    With fewer than `comparable_jobs` that had waited as long, what is to be expected is unknown. A
    loan that is called back has left on time up to `leave_slack_s` after its grace window.
    """

    comparable_jobs: AtLeastOne = 10
    leave_slack_s: int = Field(default=60, ge=0, le=LONGEST_S)

    @property
    def leave_slack_us(self) -> int:
        """`leave_slack_s` in microseconds."""
        return self.leave_slack_s * US_PER_S


class Promise(Part):
    """What must never happen. OpenSLO knows no target of 1, so it stands here."""

    name: Name
    measure: Literal["checkpoint_durability"]


DURABILITY = Promise(name="checkpoint-durability", measure="checkpoint_durability")


class Policy(Part):
    """The policy document, and beside it the objectives of the same file."""

    apiVersion: Literal["headway/v1"] = "headway/v1"
    kind: Literal["Policy"] = "Policy"
    tiers: tuple[Tier, ...] = Field(min_length=1)
    retention: Retention = Retention()
    silent_after_s: Seconds
    stale_after_s: Seconds = 7200
    restart_limit_s: Seconds = 600
    waits: Waits = Waits()
    classes: Classes = Classes()
    charges: tuple[ChargeRule, ...] = DEFAULT_CHARGES
    minimum: Minimum = Minimum()
    thaw_remaining: Share = Decimal("0.05")
    over_cautious_spent: Share = Decimal("0.10")
    promises: tuple[Promise, ...] = (DURABILITY,)
    gating: tuple[str, ...] = (
        "goodput",
        "time-to-restart",
        "queue-wait",
        "checkpoint-durability",
    )
    changes: Changes = Changes()
    decisions: Decisions = Decisions()
    alerts: tuple[AlertWindow, ...] = DEFAULT_ALERTS
    price: Price = Price()
    planning: Planning = Planning()
    shares: dict[str, Annotated[int, Field(ge=0, le=10**9, strict=True)]] = Field(default={})
    """GPUs that each tenant is guaranteed."""
    checks: Checks = Checks()
    checkpoints: Checkpoints = Checkpoints()
    housekeeping: Housekeeping = Housekeeping()
    prometheus: Prometheus = Prometheus()
    privacy: Privacy = Privacy()
    objectives: Annotated[tuple[Slo, ...], Field(exclude=True)] = ()
    """The SLO documents of the file; never a key of the policy document."""

    @field_validator("tiers")
    @classmethod
    def _names_differ(cls, tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
        counts = Counter(tier.name.lower() for tier in tiers)
        twice = [name for name, count in counts.items() if count > 1]
        if twice:
            raise ValueError(f"two tiers have the name {', '.join(twice)}")
        claims = Counter(alias for t in tiers for alias in {a.lower() for a in t.aliases})
        shared = [alias for alias, count in claims.items() if count > 1]
        if shared:
            raise ValueError(f"two tiers have the alias {', '.join(shared)}")
        return tiers

    @property
    def silent_after_us(self) -> int:
        """After how many microseconds without a record an open, steady job is presumed gone."""
        return self.silent_after_s * US_PER_S

    @property
    def stale_after_us(self) -> int:
        """From which age in µs on data no longer decide anything."""
        return self.stale_after_s * US_PER_S

    @property
    def restart_limit_us(self) -> int:
        """A restart keeps the objective where it takes less than this, in µs."""
        return self.restart_limit_s * US_PER_S

    @cached_property
    def _tier_by_name(self) -> dict[str, Tier]:
        names = {alias.lower(): tier for tier in self.tiers for alias in tier.aliases}
        return names | {tier.name.lower(): tier for tier in self.tiers}

    def tier(self, name: str) -> Tier | None:
        """The tier that a name or an alias means, in any case; None where it means none."""
        return self._tier_by_name.get(name.strip().lower())

    def charged_to(self, category: str, component: str, cause: str, tier: str | None) -> Charge:
        """Whom a loss is charged to: the first rule that fits, and the platform where none does."""
        found = self.tier(tier) if tier else None
        for rule in self.charges:
            if rule.fits(category, component, cause, found):
                return rule.charge
        return "platform"

    def target(self, measure: str) -> Fraction | None:
        """The target of the objective that measures it, as an exact share; None without one."""
        for slo in self.objectives:
            if slo.sources[0].spec["measure"] == measure:
                return slo.spec.objectives[0].share
        return None

    @property
    def objective_names(self) -> tuple[str, ...]:
        """Every objective and promise, in the order of the file."""
        promised = tuple(promise.name for promise in self.promises)
        return tuple(slo.metadata.name for slo in self.objectives) + promised


def load_policy(path: Path | None) -> Policy:
    """The policy and objectives in the file, or the default where none is given.

    Raises PolicyError with every fault and where it stands.
    """
    file = path or DEFAULT_POLICY_FILE
    try:
        text = file.read_text(encoding="utf-8")
        policy, faults = read_policy(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
        raise PolicyError(f"{file}: cannot be read as YAML ({e})") from e
    except RecursionError as e:
        raise PolicyError(f"{file}: a part of it is nested too deeply, or contains itself") from e
    if policy is None or faults:
        told = "".join(f"\n  {fault}" for fault in faults)
        raise PolicyError(f"{file}: {len(faults)} fault{'s' if len(faults) > 1 else ''}{told}")
    return policy


def read_policy(text: str) -> tuple[Policy | None, list[Fault]]:
    """The policy and objectives that the text says, and its faults in the order of lines.

    A text without any SLO document keeps the default's objectives. Raises yaml.YAMLError.
    """
    documents = read_documents(text)
    slos, policies, faults = [], [], []
    for document in documents:
        if document.kind() == "SLO":
            slo, found = checked(document, Slo)
            found += _faults_of_slo(document, slo) if slo else _refused(document)
            slos.append((document, slo))
        elif document.kind() in (None, "Policy"):
            policy, found = _policy_of(document)
            policies.append((document, policy))
        else:
            found = [document.fault(["kind"], f"no kind {document.kind()}: say SLO or Policy")]
        faults += found
    if len(policies) != 1:
        line = policies[1][0].line([]) if policies else 1
        faults.append(Fault(line, "document", f"{len(policies)} policy documents; one is needed"))
        return None, sorted(faults)
    document, policy = policies[0]
    objectives = tuple(slo for _, slo in slos if slo) if slos else _default_objectives()
    faults += _given_twice(slos)
    if policy is None:
        return None, sorted(faults)
    whole = policy.model_copy(update={"objectives": objectives})
    unread = [_name_of(document) for document, slo in slos if slo is None]
    faults += _contradictions(document, whole, [*whole.objective_names, *unread])
    return whole, sorted(faults)


def _name_of(document: Document) -> str:
    metadata = document.data.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""


def _policy_of(document: Document) -> tuple[Policy | None, list[Fault]]:
    policy, faults = checked(document, Policy)
    if isinstance(document.data, dict) and "objectives" in document.data:
        hint = "no such key; objectives are SLO documents of their own in this file"
        return None, [*faults, document.fault(["objectives"], hint)]
    return policy, faults


def _default_objectives() -> tuple[Slo, ...]:
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    found = [checked(d, Slo)[0] for d in read_documents(text) if d.kind() == "SLO"]
    return tuple(slo for slo in found if slo)


def _given_twice(slos: list[tuple[Document, Slo | None]]) -> list[Fault]:
    seen: set[str] = set()
    faults = []
    for document, slo in slos:
        if slo and slo.metadata.name in seen:
            message = f"a second objective called {slo.metadata.name}; names must differ"
            faults.append(document.fault(["metadata", "name"], message))
        seen |= {slo.metadata.name} if slo else set()
    return faults


def _faults_of_slo(document: Document, slo: Slo) -> list[Fault]:
    faults = _refused(document)
    window = slo.spec.timeWindow[0]
    if (window.duration, window.isRolling) != ("30d", True):
        message = "Headway keeps budgets over a rolling window of 30d"
        faults.append(document.fault(["spec", "timeWindow", 0], message))
    if slo.spec.budgetingMethod != "Occurrences":
        message = "Headway counts Occurrences only"
        faults.append(document.fault(["spec", "budgetingMethod"], message))
    if len(slo.spec.objectives) != 1:
        faults.append(document.fault(["spec", "objectives"], "one objective a document"))
    measures = {str(source.spec.get("measure")) for source in slo.sources}
    if not faults and (len(measures) != 1 or not measures <= set(MEASURES)):
        given = ", ".join(sorted(measures)) or "none"
        key = "indicator" if slo.spec.indicator else "indicatorRef"
        message = f"measure {given}: Headway measures {', '.join(MEASURES)}, one an objective"
        faults.append(document.fault(["spec", key], message + closest(given, MEASURES)))
    return faults


def _refused(document: Document) -> list[Fault]:
    """Objectives that do more harm than good, told by their names and metrics."""
    if not isinstance(document.data, dict):
        return []
    said = " ".join(_names_in(document.data)).lower()
    return [
        document.fault(["metadata", "name"], f"{what} is refused as an objective: {why}")
        for words, what, why in REFUSED
        if re.search(words, said)
    ]


def _names_in(data: Any, key: str = "") -> Iterator[str]:
    """The names, titles and metric queries of a document; prose and labels are no names."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name not in ("description", "labels", "annotations"):
                yield from _names_in(value, str(name))
    elif isinstance(data, list):
        for value in data:
            yield from _names_in(value, key)
    elif isinstance(data, str) and key not in ("apiVersion", "kind", "service"):
        yield data


def _contradictions(document: Document, policy: Policy, names: list[str]) -> list[Fault]:
    """What each section says well by itself, and not together with the others."""
    faults = []
    tiers = [tier.name for tier in policy.tiers]
    for place, rule in enumerate(policy.charges):
        if rule.tier is not None and rule.tier not in tiers:
            message = f"no tier {rule.tier}{closest(rule.tier, tiers)}"
            faults.append(document.fault(["charges", place, "tier"], message))
    for place, promise in enumerate(policy.promises):
        if names.count(promise.name) > 1:
            message = f"another objective or promise is called {promise.name}; names must differ"
            faults.append(document.fault(["promises", place, "name"], message))
    for place, name in enumerate(policy.gating):
        if name not in names:
            message = f"no objective {name}{closest(name, names)}"
            faults.append(document.fault(["gating", place], message))
    for change in set(policy.changes.held) & set(policy.changes.passing):
        message = f"{change} is both held and passing; name it once"
        faults.append(document.fault(["changes"], message))
    if policy.classes.short_duration_us > policy.classes.large_duration_us:
        message = "is longer than large_duration_s: a job would be both short and large"
        faults.append(document.fault(["classes", "short_duration_s"], message))
    return faults + _idle_charges(document, policy) + _unreachable_alerts(document, policy)


def _idle_charges(document: Document, policy: Policy) -> list[Fault]:
    faults = []
    for place, rule in enumerate(policy.charges):
        for before, earlier in enumerate(policy.charges[:place]):
            if earlier.covers(rule):
                message = f"never decides: charges.{before} fits all that it fits, and stands first"
                faults.append(document.fault(["charges", place], message))
                break
    return faults


def _unreachable_alerts(document: Document, policy: Policy) -> list[Fault]:
    faults = []
    for place, window in enumerate(policy.alerts):
        if window.short_h > window.long_h:
            message = "is longer than long_h: it could not end the alert sooner"
            faults.append(document.fault(["alerts", place, "short_h"], message))
        for slo in policy.objectives:
            highest = 1 / (1 - slo.spec.objectives[0].share)
            if window.factor >= highest:
                message = (
                    f"{window.budget_percent} % in {window.long_h} h is a burn rate of"
                    f" {float(window.factor):g}; {slo.metadata.name} cannot burn faster than"
                    f" {float(highest):g}, so this alert would never fire"
                )
                faults.append(document.fault(["alerts", place], message))
    return faults

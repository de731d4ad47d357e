"""OpenSLO v1 documents of kind SLO, as far as Headway's objectives need them.

Source: the OpenSLO v1 specification and its JSON schemas (OpenSLO/OpenSLO, `schemas/v1`):
which keys there are, which are required, how names are spelt, the bounds of a target. Stricter than
they are in one thing: a key that the specification does not know is refused. Which window and
method Headway can keep a budget for is narrower still; `metrics.policy` says so where it refuses.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from metrics.documents import Part

Name = Annotated[
    str, StringConstraints(min_length=1, max_length=255, pattern=r"^[a-z0-9][a-z0-9.|/\\-]*$")
]
Label = Annotated[
    str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*$")
]
Duration = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*[mhdwMQY]$")]


class Metadata(Part):
    """What a document is called."""

    name: Name
    displayName: Annotated[str, StringConstraints(min_length=1)] | None = None
    labels: dict[str, Label | list[Label]] = Field(default={})
    annotations: dict[str, str] = Field(default={})


class MetricSource(Part):
    """Where a metric comes from: a type, and what that type needs to know."""

    metricSourceRef: Name | None = None
    type: str | None = None
    spec: dict[str, Any]


class Metric(Part):
    """One metric."""

    metricSource: MetricSource


class RatioMetric(Part):
    """Good or bad events among all."""

    counter: bool
    good: Metric | None = None
    bad: Metric | None = None
    total: Metric

    @model_validator(mode="after")
    def _either_good_or_bad(self) -> Self:
        if (self.good is None) == (self.bad is None):
            raise ValueError("a ratio needs either good or bad, and not both")
        return self


class IndicatorSpec(Part):
    """What is measured: a ratio, or a value against a threshold."""

    description: Annotated[str, StringConstraints(max_length=1050)] | None = None
    thresholdMetric: Metric | None = None
    ratioMetric: RatioMetric | None = None

    @model_validator(mode="after")
    def _one_metric(self) -> Self:
        if (self.thresholdMetric is None) == (self.ratioMetric is None):
            raise ValueError("an indicator needs either ratioMetric or thresholdMetric, not both")
        return self


class Indicator(Part):
    """An indicator written inside its objective."""

    metadata: Metadata
    spec: IndicatorSpec


class Calendar(Part):
    """When windows of a calendar begin, and in which zone."""

    startTime: str
    timeZone: str


class TimeWindow(Part):
    """Over what time the budget is counted."""

    duration: Duration
    isRolling: bool
    calendar: Calendar | None = None


class Objective(Part):
    """A target: a share as a decimal fraction, or in percent."""

    displayName: str | None = None
    op: Literal["lte", "gte", "lt", "gt"] | None = None
    value: Decimal | None = None
    target: Annotated[Decimal, Field(ge=0, lt=1)] | None = None
    targetPercent: Annotated[Decimal, Field(ge=0, lt=100)] | None = None
    timeSliceTarget: Annotated[Decimal, Field(gt=0, le=1)] | None = None
    timeSliceWindow: Duration | None = None
    compositeWeight: Annotated[Decimal, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.target is None) == (self.targetPercent is None):
            raise ValueError("an objective needs either target or targetPercent, not both")
        return self

    @property
    def share(self) -> Fraction:
        """The target as an exact share."""
        if self.target is not None:
            return Fraction(self.target)
        return Fraction(self.targetPercent or 0) / 100


class SloSpec(Part):
    """What an SLO promises, over what window."""

    description: Annotated[str, StringConstraints(max_length=1050)] | None = None
    service: Name
    indicator: Indicator | None = None
    indicatorRef: Name | None = None
    timeWindow: Annotated[tuple[TimeWindow, ...], Field(min_length=1, max_length=1)]
    budgetingMethod: Literal["Occurrences", "Timeslices", "RatioTimeslices"]
    objectives: Annotated[tuple[Objective, ...], Field(min_length=1)]
    alertPolicies: tuple[Any, ...] = ()

    @model_validator(mode="after")
    def _one_indicator(self) -> Self:
        if (self.indicator is None) == (self.indicatorRef is None):
            raise ValueError("an SLO needs either indicator or indicatorRef, and not both")
        return self


class Slo(Part):
    """An OpenSLO v1 document of kind SLO."""

    apiVersion: Literal["openslo/v1"]
    kind: Literal["SLO"]
    metadata: Metadata
    spec: SloSpec

    @property
    def sources(self) -> tuple[MetricSource, ...]:
        """Where its metrics come from."""
        ratio = self.spec.indicator.spec.ratioMetric if self.spec.indicator else None
        if ratio is None:
            return ()
        metrics = (ratio.good, ratio.bad, ratio.total)
        return tuple(metric.metricSource for metric in metrics if metric is not None)

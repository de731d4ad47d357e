"""Colours, labels and their order, each once: a category looks the same wherever it appears.

The colours keep a contrast of 3:1 on their background and stay apart under every common kind of
colour blindness; besides them every mark has a label, an order and, where two share a colour, an
outline or a dash.
"""

from dataclasses import dataclass

from metrics.budget import State
from metrics.freeze import Standing


@dataclass(frozen=True)
class Category:
    """What time went to: its label, and its colours on light and on dark."""

    id: str
    label: str
    light: str
    dark: str


CATEGORIES = (
    Category("useful", "Useful steps", "#1860B4", "#6DA1F8"),
    Category("startup", "Start-up", "#1B97A8", "#AEEAF6"),
    Category("restart", "Restarts", "#C0350F", "#E5430F"),
    Category("preemption", "Preemption", "#452E1A", "#B19485"),
    Category("maintenance", "Maintenance", "#CE7700", "#FDAA02"),
    Category("checkpoint", "Checkpoint pauses", "#07604A", "#3FCFAE"),
    Category("straggler", "Stragglers", "#82946A", "#DCE78E"),
    Category("loader", "Data loading", "#9A74FB", "#8A67EF"),
    Category("job", "Job’s own code", "#70014F", "#DE70A8"),
    Category("unattributed", "Unattributed", "#737780", "#70757D"),
    Category("uninstrumented", "Not instrumented", "#737780", "#70757D"),
)
"""In the order in which they are always shown."""

BY_ID = {category.id: category for category in CATEGORIES}
ORDER = {category.id: place for place, category in enumerate(CATEGORIES)}

PHASES = ("detect", "requeue", "launch", "load", "first_step")
PHASE_LABELS = {
    "detect": "Detect",
    "requeue": "Requeue",
    "launch": "Launch",
    "load": "Load checkpoint",
    "first_step": "First step",
    "rework": "Work done again",
}
CAUSE_LABELS = {
    "hardware": "Hardware",
    "network": "Network",
    "storage": "Storage",
    "software": "Software",
    "preemption": "Preemption",
    "maintenance": "Maintenance",
    "job_error": "Job error",
    "unknown": "Cause unknown",
    "suspended": "Suspended",
    "rollback": "Rolled back on purpose",
    "": "No interruption",
}
COMPONENT_LABELS = PHASE_LABELS | {
    "step": "Inside steps",
    "pause": "Pause",
    "window": "Window",
    "phase": "Job’s own phase",
    "overhead": "Overhead in steps",
    "slow_step": "Slow steps",
    "gap": "Gap without a record",
    "tail": "After the last step",
    "run": "Running without step records",
    "node": "No job",
    "no_record": "No record of a job",
}
STATE_LABELS = {
    "allocated": "Allocated",
    "spare_for_restart": "Spare for restarts",
    "warm_pool": "Warm pool",
    "draining": "Draining",
    "gang_reserved": "Reserved for a gang",
    "backfill": "Lent as backfill",
    "maintenance": "Maintenance of nodes",
    "down": "Down",
    "power_capped": "Power-capped",
    "stranded": "Stranded",
    "idle": "Idle",
    "unknown": "Unknown",
}
GROUP_LABELS = {
    "useful": "Useful steps",
    "lost": "Lost inside jobs",
    "no_record": "Allocated, no record",
    "reserves": "Reserves",
    "upkeep": "Maintenance, draining",
    "down": "Down, power-capped",
    "stranded": "Stranded",
    "idle": "Idle",
    "unknown": "Unknown",
}
REASON_LABELS = {
    "quota": "Quota used up",
    "gang_size": "Gathering the gang",
    "topology": "Placement",
    "power": "Power",
    "priority": "Higher priority first",
    "dependency": "Dependency",
    "maintenance": "Maintenance",
    "user_hold": "Held by its owner",
    "other": "Other reason",
    "": "No reason recorded",
}
SLO_LABELS = {
    "goodput": "Goodput",
    "time-to-restart": "Restart",
    "queue-wait": "Queue wait",
    "short-job-success": "Short jobs",
    "checkpoint-durability": "Checkpoints",
}


@dataclass(frozen=True)
class Badge:
    """A state: the name of an icon of Material Symbols, a word and the name of a colour."""

    icon: str
    word: str
    color: str

    @property
    def markdown(self) -> str:
        """The badge in a text of Streamlit's."""
        return f":{self.color}-badge[:material/{self.icon}: {self.word}]"


STATE_BADGES = {
    State.WITHIN: Badge("check", "Within", "green"),
    State.EXHAUSTED: Badge("block", "Exhausted", "red"),
    State.INSUFFICIENT: Badge("more_horiz", "Too little data", "gray"),
    State.UNKNOWN: Badge("question_mark", "Unknown", "gray"),
}
"""Of a budget."""

STANDING_BADGES = {
    Standing.OPEN: Badge("check", "Open", "green"),
    Standing.FROZEN: Badge("ac_unit", "Frozen", "red"),
    Standing.UNKNOWN: Badge("question_mark", "Unknown", "gray"),
}


@dataclass(frozen=True)
class Theme:
    """All that a chart draws with, besides the categories."""

    name: str
    background: str
    open: str
    frozen: str
    unknown: str
    forecast: str
    ink: str
    ink2: str
    rule: str
    grid: str
    surface: str
    hollow: float
    """Opacity of the fill of work that was done again."""
    on_bar: str
    """Text on a filled bar."""
    phases: dict[str, str]

    def category(self, id_: str) -> str:
        """The colour of a category; ink2 for what is none."""
        found = BY_ID.get(id_)
        return self.ink2 if found is None else getattr(found, self.name)


LIGHT = Theme(
    name="light",
    background="#FFFFFF",
    open="#00796B",
    frozen="#A00D35",
    unknown="#6B7280",
    forecast="#5A4FB0",
    ink="#1B2430",
    ink2="#4C5868",
    rule="#808A97",
    grid="#E3E7EC",
    surface="#F3F5F8",
    hollow=0.14,
    on_bar="#FFFFFF",
    phases={
        "detect": "#808A97",
        "requeue": "#5A1500",
        "launch": "#962608",
        "load": "#C9421A",
        "first_step": "#E96A41",
    },
)
DARK = Theme(
    name="dark",
    background="#0E1117",
    open="#4CD7C4",
    frozen="#F5476B",
    unknown="#9AA3AF",
    forecast="#B3A8FF",
    ink="#F2F5F9",
    ink2="#AEB8C5",
    rule="#7B8695",
    grid="#2A313D",
    surface="#1A1F2B",
    hollow=0.22,
    on_bar="#0E1117",
    phases={
        "detect": "#7B8695",
        "requeue": "#FFD3C4",
        "launch": "#F79F83",
        "load": "#EE6A44",
        "first_step": "#C24A22",
    },
)
THEMES = {"light": LIGHT, "dark": DARK}


def label(dimension: str, name: str) -> str:
    """How a name of a dimension is said: categories, causes, components and tiers have words."""
    if dimension == "category":
        return BY_ID[name].label if name in BY_ID else name
    if dimension == "cause":
        return CAUSE_LABELS.get(name, name)
    if dimension == "component":
        return COMPONENT_LABELS.get(name, name)
    return name.capitalize() if dimension == "tier" else name or "not named"

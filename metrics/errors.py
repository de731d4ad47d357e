"""What can go wrong, as one tree, so that callers catch what they can act on.

HeadwayError
├── UsageError              the command, a path or an option is wrong (exit code 2)
│   ├── UnreadableInput     a file that cannot be read as what it should be
│   │   └── UnknownKind     no source recognises it
│   └── PolicyError         the policy file has faults; each is named
├── WarehouseBusy           another process holds the warehouse
├── StorageFault            the disk is full, read-only or failing: worth another try later
├── AlreadyRunning          the services of this home run already
├── ServiceEnded            a service of `headway up` ended by itself
├── PrometheusUnavailable   the server gives no whole answer: worth another try later
├── NothingPublished        no mart was published yet in this home
└── IntegrityError          the store contradicts itself: a fault in Headway, nothing is published
"""


class HeadwayError(Exception):
    """Anything Headway reports by itself; the message says what happened, where, and what to do."""


class UsageError(HeadwayError):
    """The command, a path or an option is wrong: exit code 2."""


class UnreadableInput(UsageError):
    """A file cannot be read as what it should be."""


class UnknownKind(UnreadableInput):
    """No source recognises the file."""


class PolicyError(UsageError):
    """The policy file has faults; the message lists each with its place."""


class WarehouseBusy(HeadwayError):
    """Another process holds the warehouse and did not finish in the time allowed."""


class StorageFault(HeadwayError):
    """What Headway keeps cannot be written: a full, read-only or failing disk."""


class AlreadyRunning(HeadwayError):
    """Another `headway up` runs the services of this home."""


class ServiceEnded(HeadwayError):
    """A service of `headway up` ended by itself, and the others were ended with it."""


class PrometheusUnavailable(HeadwayError):
    """Prometheus gives no answer, or only a part of one."""


class NothingPublished(HeadwayError):
    """No mart was published yet in this home."""


class IntegrityError(HeadwayError):
    """The store contradicts itself: a fault in Headway; nothing is published from it."""

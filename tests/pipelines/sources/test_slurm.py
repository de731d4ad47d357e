"""sacct's rows as lifecycle records: one rule a test, then the real exports.

The rows are made up around one good row, of which each test changes what it is about.
"""

from collections import Counter
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from metrics.errors import UnreadableInput
from metrics.policy import Policy, Tier
from pipelines.sources import Record, Reject, Settings, text
from pipelines.sources.slurm import (
    Slurm,
    gpus_of_tres,
    node_names,
    pending_reason,
)

SHARED = Path(__file__).parents[4] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data beside the checkout")

POLICY = Policy(
    tiers=(
        Tier(name="interactive", rank=2, preemptible=False, aliases=("production",)),
        Tier(name="batch", rank=1, preemptible=True),
    ),
    silent_after_s=21_600,
)

GOOD = {
    "JobID": "7",
    "JobIDRaw": "7",
    "JobName": "pretrain",
    "Account": "research",
    "User": "ada",
    "QOS": "batch",
    "Partition": "gpu",
    "State": "COMPLETED",
    "Submit": "2026-10-01T10:00:00",
    "Eligible": "2026-10-01T10:00:00",
    "Start": "2026-10-01T10:05:00",
    "End": "2026-10-01T11:05:00",
    "ReqTRES": "cpu=8,gres/gpu=8,node=2",
    "AllocTRES": "billing=8,cpu=8,gres/gpu=8,node=2",
    "NodeList": "n[1-2]",
    "Reason": "None",
}
SECOND_RUN = {
    "Submit": "2026-10-01T11:05:00",
    "Eligible": "2026-10-01T11:07:01",
    "Start": "2026-10-01T12:00:00",
    "End": "2026-10-01T13:00:00",
    "Reason": "BeginTime",
}
NEVER_RAN = {"State": "CANCELLED by 1000", "NodeList": "None assigned", "AllocTRES": ""}


def row(**changes):
    return {**GOOD, **changes}


def table(*rows, columns=tuple(GOOD), header=True):
    """The rows as sacct -P prints them."""
    lines = ["|".join(columns)] if header else []
    lines += ["|".join(r[c] for c in columns) for r in rows]
    return "\n".join(lines) + "\n"


def read(tmp_path, content, **settings):
    """(fields of the records, rejects) of a file with this content."""
    path = tmp_path / "sacct.psv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    items = list(Slurm().read(path, Settings(POLICY, **settings)))
    records = [i for i in items if isinstance(i, Record)]
    assert {r.stream for r in records} <= {"lifecycle"}
    return [r.fields for r in records], [i for i in items if isinstance(i, Reject)]


def records_of(tmp_path, *rows, **settings):
    records, rejects = read(tmp_path, table(*rows), **settings)
    assert not rejects
    return records


def events(records):
    """(event, time of day in UTC, what tells it apart) for short comparisons."""
    return [
        (
            r["event"],
            datetime.fromisoformat(r["ts"]).astimezone(ZoneInfo("UTC")).strftime("%H:%M:%S"),
            r.get("cause") or r.get("outcome") or r.get("reason") or r.get("attempt"),
        )
        for r in records
    ]


# --- one run --------------------------------------------------------------------------------------


def test_a_completed_job_is_submitted_allocated_and_ended(tmp_path):
    assert records_of(tmp_path, row()) == [
        {
            "event": "job_submitted",
            "ts": "2026-10-01T10:00:00+00:00",
            "job": "7",
            "tier": "batch",
            "tenant": "research",
            "user": "ada",
            "name": "pretrain",
            "gpus": 8,
        },
        {
            "event": "resources_allocated",
            "ts": "2026-10-01T10:05:00+00:00",
            "job": "7",
            "attempt": 0,
            "nodes": ["n1", "n2"],
            "gpus": 8,
        },
        {
            "event": "job_ended",
            "ts": "2026-10-01T11:05:00+00:00",
            "job": "7",
            "outcome": "completed",
        },
    ]


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("COMPLETED", "completed"),
        ("CANCELLED", "cancelled"),
        ("CANCELLED by 423120", "cancelled"),
        ("TIMEOUT", "failed"),
        ("DEADLINE", "failed"),
        ("FAILED", "failed"),
        ("OUT_OF_MEMORY", "failed"),
    ],
)
def test_these_states_end_a_job_that_has_no_later_run(tmp_path, state, outcome):
    records = records_of(tmp_path, row(State=state))
    assert events(records)[1:] == [
        ("resources_allocated", "10:05:00", 0),
        ("job_ended", "11:05:00", outcome),
    ]


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("PREEMPTED", "preemption"),
        ("NODE_FAIL", "hardware"),
        ("BOOT_FAIL", "hardware"),
        ("REQUEUED", "unknown"),
    ],
)
def test_these_states_wait_for_the_next_run(tmp_path, state, cause):
    records = records_of(tmp_path, row(State=state))
    assert events(records)[1:] == [
        ("resources_allocated", "10:05:00", 0),
        ("interruption", "11:05:00", cause),
    ]


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING"])
def test_a_run_that_goes_on_is_allocated_and_has_no_end(tmp_path, state):
    records = records_of(tmp_path, row(State=state, End="Unknown"))
    assert events(records)[1:] == [("resources_allocated", "10:05:00", 0)]


def test_a_run_whose_end_is_not_said_gets_none(tmp_path):
    records = records_of(tmp_path, row(State="NODE_FAIL", End="Unknown"))
    assert events(records)[1:] == [("resources_allocated", "10:05:00", 0)]


def test_a_run_of_no_length_on_assigned_nodes_did_run(tmp_path):
    records = records_of(tmp_path, row(State="FAILED", End=GOOD["Start"]))
    assert events(records)[1:] == [
        ("resources_allocated", "10:05:00", 0),
        ("job_ended", "10:05:00", "failed"),
    ]


@pytest.mark.parametrize("start", [GOOD["End"], "Unknown", "None", ""])
def test_a_job_cancelled_in_the_queue_never_held_resources(tmp_path, start):
    records = records_of(tmp_path, row(**NEVER_RAN, Start=start))
    assert events(records) == [
        ("job_submitted", "10:00:00", None),
        ("job_ended", "11:05:00", "cancelled"),
    ]


def test_without_node_lists_a_cancelled_job_of_no_length_is_taken_for_one_that_never_ran(tmp_path):
    columns = ("JobID", "State", "Submit", "Start", "End")
    cancelled = row(State="CANCELLED", Start=GOOD["End"])
    failed = row(JobID="8", State="FAILED", Start=GOOD["End"])
    records, _ = read(tmp_path, table(cancelled, failed, columns=columns))
    assert [r["job"] for r in records if r["event"] == "resources_allocated"] == ["8"]


# --- several runs ---------------------------------------------------------------------------------


def test_runs_of_one_id_become_attempts_in_the_order_of_start_wherever_they_stand(tmp_path):
    records = records_of(tmp_path, row(**SECOND_RUN), row(State="PREEMPTED"))
    assert events(records) == [
        ("job_submitted", "10:00:00", None),
        ("resources_allocated", "10:05:00", 0),
        ("interruption", "11:05:00", "preemption"),
        ("resources_allocated", "12:00:00", 1),
        ("job_ended", "13:00:00", "completed"),
    ]


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("FAILED", "job_error"),
        ("OUT_OF_MEMORY", "job_error"),
        ("COMPLETED", "unknown"),
        ("CANCELLED by 0", "unknown"),
        ("TIMEOUT", "unknown"),
    ],
)
def test_a_state_that_would_end_the_job_is_an_interruption_where_a_run_follows(
    tmp_path, state, cause
):
    records = records_of(tmp_path, row(State=state), row(**SECOND_RUN))
    assert ("interruption", "11:05:00", cause) in events(records)
    assert [r["outcome"] for r in records if r["event"] == "job_ended"] == ["completed"]


def test_a_failed_run_that_waits_to_run_again_has_not_failed_the_job(tmp_path):
    waiting = row(**{**SECOND_RUN, "State": "PENDING", "Start": "Unknown", "End": "Unknown"})
    records = records_of(tmp_path, row(State="FAILED"), waiting)
    assert events(records)[-1] == ("interruption", "11:05:00", "job_error")


def test_a_requeued_job_cancelled_in_the_queue_ends_without_another_attempt(tmp_path):
    # The Start that sacct gives it is its End, 13:00:00.
    cancelled = row(**{**SECOND_RUN, **NEVER_RAN, "Start": SECOND_RUN["End"]})
    records = records_of(tmp_path, row(State="PREEMPTED"), cancelled)
    assert events(records)[1:] == [
        ("resources_allocated", "10:05:00", 0),
        ("interruption", "11:05:00", "preemption"),
        ("job_ended", "13:00:00", "cancelled"),
    ]


def test_a_file_joined_to_itself_changes_nothing(tmp_path):
    once = table(row(State="PREEMPTED"), row(**SECOND_RUN))
    assert read(tmp_path, once + once) == read(tmp_path, once)


def test_of_two_exports_of_one_run_the_later_told_counts(tmp_path):
    yesterday = table(
        row(State="RUNNING", End="Unknown"),
        row(JobID="8", JobIDRaw="8", State="PENDING", Start="Unknown", End="Unknown"),
    )
    today = table(row(), row(JobID="8", JobIDRaw="8"))
    assert read(tmp_path, yesterday + today) == read(tmp_path, today)
    assert read(tmp_path, today + yesterday) == read(tmp_path, today)


def test_jobs_come_in_the_order_of_their_first_submission(tmp_path):
    later = row(JobID="5", JobIDRaw="5", Submit="2026-10-01T10:00:01")
    records = records_of(tmp_path, later, row())
    assert [r["job"] for r in records if r["event"] == "job_submitted"] == ["7", "5"]


def test_the_same_id_on_two_clusters_is_two_jobs(tmp_path):
    rows = [row(Cluster="a"), row(Cluster="b", **SECOND_RUN)]
    records, _ = read(tmp_path, table(*rows, columns=(*GOOD, "Cluster")))
    allocations = [r for r in records if r["event"] == "resources_allocated"]
    assert [(r["cluster"], r["attempt"]) for r in allocations] == [("a", 0), ("b", 0)]


# --- ids and names --------------------------------------------------------------------------------


def test_tasks_of_an_array_are_jobs_named_by_their_array_id(tmp_path):
    tasks = [row(JobID="27_1", JobIDRaw="28"), row(JobID="27_2", JobIDRaw="27")]
    records = records_of(tmp_path, *tasks)
    named = [(r["job"], r["name"]) for r in records if r["event"] == "job_submitted"]
    assert named == [("28", "27_1"), ("27", "27_2")]


def test_without_the_raw_id_the_shown_one_is_the_job(tmp_path):
    columns = tuple(c for c in GOOD if c != "JobIDRaw")
    records, _ = read(tmp_path, table(row(JobID="27_1"), columns=columns))
    assert {r["job"] for r in records} == {"27_1"}


def test_tasks_that_wait_unsplit_are_rejected_where_nothing_gives_them_an_id(tmp_path):
    waiting = row(JobID="27_[3-6%2]", State="PENDING", Start="Unknown", End="Unknown")
    columns = tuple(c for c in GOOD if c != "JobIDRaw")
    records, rejects = read(tmp_path, table(waiting, columns=columns))
    assert (records, [r.reason.partition(":")[0] for r in rejects]) == ([], ["array_not_split"])
    records, rejects = read(tmp_path, table({**waiting, "JobIDRaw": "27"}))
    assert ([r["job"] for r in records], rejects) == (["27"], [])


def test_job_steps_are_skipped_in_silence(tmp_path):
    steps = [row(JobID=i, JobIDRaw=i) for i in ("7.batch", "7.extern", "7.0")]
    array_step = row(JobID="27_1.batch", JobIDRaw="28.batch")
    assert read(tmp_path, table(*steps, array_step)) == ([], [])


# --- tier, GPUs, nodes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("qos", "partition", "tier"),
    [
        ("batch", "interactive", "batch"),
        ("normal", "Production", "interactive"),
        ("normal", "gpu", "gpu"),
        ("normal", "", "normal"),
        ("", "", "unknown"),
    ],
)
def test_the_tier_is_the_first_of_qos_and_partition_that_the_policy_knows(
    tmp_path, qos, partition, tier
):
    assert records_of(tmp_path, row(QOS=qos, Partition=partition))[0]["tier"] == tier


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("cpu=8,gres/gpu=4,mem=1G", 4),
        ("cpu=8,gres/gpu:a100=4", 4),
        ("gres/gpu:a100=4,gres/gpu:h100=2", 6),
        ("gres/gpu=4,gres/gpu:a100=4", 4),
        ("gres/gpu:a100=4,gres/gpu=4", 4),
        ("gres/gpumem=4,gres/gpuutil=9", None),
        ("gres/gpu=0", None),
        ("gres/gpu=many", None),
        ("cpu=8", None),
        ("", None),
    ],
)
def test_gpus_are_counted_once_and_never_0(tres, gpus):
    assert gpus_of_tres(tres) == gpus


def test_what_was_allocated_counts_before_what_was_asked(tmp_path):
    asked = row(JobID="8", JobIDRaw="8", AllocTRES="")
    records = records_of(tmp_path, row(ReqTRES="gres/gpu=2"), asked)
    assert [r["gpus"] for r in records if "gpus" in r] == [8, 8, 8, 8]


def test_without_a_gpu_named_their_number_is_not_known(tmp_path):
    records = records_of(tmp_path, row(ReqTRES="cpu=1", AllocTRES="cpu=1"))
    assert not any("gpus" in r for r in records)


@pytest.mark.parametrize(
    ("nodelist", "names"),
    [
        ("n1", "n1"),
        ("n[1-4]", "n1 n2 n3 n4"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[1,3-4,007]x", "n1x n3x n4x n007x"),
        (
            "cpn-f13-03-[01-02],cpn-f13-04-[01-02]",
            "cpn-f13-03-01 cpn-f13-03-02 cpn-f13-04-01 cpn-f13-04-02",
        ),
        ("r[1-2]n[01-02],x", "r1n01 r1n02 r2n01 r2n02 x"),
        ("None assigned", ""),
        ("", ""),
    ],
)
def test_node_lists_are_expanded(nodelist, names):
    assert node_names(nodelist) == tuple(names.split())


@pytest.mark.parametrize(
    "nodelist",
    [
        *("n[1-", "n[]", "n[4-1]", "n[a-b]", "n1]", "n[1-[2]]", "n[1-99999999]"),
        *("n" + "[1-9]" * 40, "[" * 100_000, "n[1" * 100_000),
    ],
)
def test_damaged_or_endless_node_lists_are_rejected(tmp_path, nodelist):
    records, rejects = read(tmp_path, table(row(NodeList=nodelist), row(JobID="8", JobIDRaw="8")))
    assert {r["job"] for r in records} == {"8"}
    assert rejects[0].reason.startswith(("bad_node_list: ", "too_many_nodes: "))


# --- why a job waits ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("Priority", "priority"),
        ("Resources", "gang_size"),
        ("Dependency", "dependency"),
        ("BeginTime", "user_hold"),
        ("JobHeldUser", "user_hold"),
        ("QOSMaxGRESPerUser", "quota"),
        ("AssocGrpGRES", "quota"),
        ("PowerNotAvail", "power"),
        ("ReqNodeNotAvail, Reserved for maintenance", "maintenance"),
        ("JobHeldAdmin", "other"),
        ("PartitionConfig", "other"),
        ("QOSNotAllowed", "other"),
        ("SomethingNew", "other"),
    ],
)
def test_a_pending_job_says_why_from_its_submission_on(tmp_path, reason, meaning):
    assert pending_reason(reason) == meaning
    pending = row(State="PENDING", Start="Unknown", End="Unknown", Reason=reason)
    records = records_of(tmp_path, pending)
    assert events(records)[1:] == [("job_pending", "10:00:00", meaning)]
    assert records[1]["detail"] == reason


def test_a_pending_job_without_a_reason_is_only_submitted(tmp_path):
    pending = row(State="PENDING", Start="Unknown", End="Unknown")
    assert events(records_of(tmp_path, pending)) == [("job_submitted", "10:00:00", None)]


@pytest.mark.parametrize(
    ("reason", "meaning"), [("Dependency", "dependency"), ("BeginTime", "user_hold")]
)
def test_a_first_run_was_ineligible_up_to_eligible(tmp_path, reason, meaning):
    ran = row(Reason=reason, Eligible="2026-10-01T10:04:00")
    assert events(records_of(tmp_path, ran))[1:4] == [
        ("job_pending", "10:00:00", meaning),
        ("job_pending", "10:04:00", "other"),
        ("resources_allocated", "10:05:00", 0),
    ]


def test_nothing_is_said_of_the_time_after_eligible_where_there_was_none(tmp_path):
    ran = row(Reason="Dependency", Eligible=GOOD["Start"])
    pending = [e for e in events(records_of(tmp_path, ran)) if e[0] == "job_pending"]
    assert pending == [("job_pending", "10:00:00", "dependency")]


def test_a_begin_time_in_the_future_of_a_pending_job_gives_no_record_then(tmp_path):
    pending = row(
        State="PENDING",
        Start="Unknown",
        End="Unknown",
        Reason="BeginTime",
        Eligible="2026-12-24T00:00:00",
    )
    records = records_of(tmp_path, pending)
    assert events(records)[1:] == [("job_pending", "10:00:00", "user_hold")]


@pytest.mark.parametrize("reason", ["Priority", "QOSMaxJobsPerUserLimit", "None"])
def test_other_reasons_of_a_job_that_ran_say_nothing_of_when_they_held(tmp_path, reason):
    ran = row(Reason=reason, Eligible="2026-10-01T10:04:00")
    assert not any(r["event"] == "job_pending" for r in records_of(tmp_path, ran))


def test_a_requeue_waits_out_its_begin_time_as_restart_not_as_pending(tmp_path):
    records = records_of(tmp_path, row(State="PREEMPTED"), row(**SECOND_RUN))
    assert not any(r["event"] == "job_pending" for r in records)


# --- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "utc"),
    [
        # Berlin is two hours ahead of UTC in summer time.
        ("2026-10-01T12:05:00", "10:05:00"),
        ("2026-10-01T10:05:00Z", "10:05:00"),
        ("2026-10-01T13:05:00+0300", "10:05:00"),
        ("2026-10-01T13:05:00+03:00", "10:05:00"),
        # 2026-10-01T00:00:00Z is day 20,727: 20,727 * 86,400 = 1,790,812,800; + 36,300 s.
        ("1790849100", "10:05:00"),
    ],
)
def test_times_are_local_unless_they_say_otherwise(tmp_path, start, utc):
    run = row(
        Submit="2026-10-01T12:00:00",
        Eligible="2026-10-01T12:00:00",
        Start=start,
        End="2026-10-01T13:05:00",
    )
    records = records_of(tmp_path, run, timezone=ZoneInfo("Europe/Berlin"))
    assert events(records) == [
        ("job_submitted", "10:00:00", None),
        ("resources_allocated", utc, 0),
        ("job_ended", "11:05:00", "completed"),
    ]


@pytest.mark.parametrize(
    ("end", "fault"),
    [
        # Berlin goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October.
        ("2026-03-29T02:30:00", "impossible_local_time"),
        ("2026-10-25T02:30:00", "ambiguous_local_time"),
    ],
)
def test_a_local_time_that_a_change_of_clocks_spoils_is_reported(tmp_path, end, fault):
    spoilt = row(
        Submit="2026-01-01T00:00:00",
        Eligible="2026-01-01T00:00:00",
        Start="2026-01-01T00:00:00",
        End=end,
    )
    good = row(JobID="8", JobIDRaw="8")
    records, rejects = read(tmp_path, table(spoilt, good), timezone=ZoneInfo("Europe/Berlin"))
    assert {r["job"] for r in records} == {"8"}
    assert [(r.line, r.reason) for r in rejects] == [(2, f"{fault}: End is {end} in Europe/Berlin")]


def test_the_same_times_are_fine_with_an_offset_or_in_utc(tmp_path):
    times = dict.fromkeys(("Submit", "Eligible", "Start"), "2026-01-01T00:00:00")
    offset = row(**times, End="2026-10-25T02:30:00+0200")
    records_of(tmp_path, offset, timezone=ZoneInfo("Europe/Berlin"))
    records_of(tmp_path, row(**times, End="2026-10-25T02:30:00"))


# --- columns --------------------------------------------------------------------------------------


def test_columns_may_stand_in_any_order_and_case(tmp_path):
    plain = records_of(tmp_path, row())
    backwards = tuple(reversed(GOOD))
    content = table(row(), columns=backwards)
    header, rest = content.split("\n", 1)
    assert read(tmp_path, f"{header.upper()}\n{rest}") == (plain, [])
    assert read(tmp_path, f"\ufeff{header.lower()}\n{rest}") == (plain, [])


def test_windows_line_ends_change_nothing(tmp_path):
    content = table(row(), row(**SECOND_RUN))
    assert read(tmp_path, content.replace("\n", "\r\n")) == read(tmp_path, content)


def test_without_a_header_the_given_columns_count(tmp_path):
    content = table(row(), header=False)
    given = tuple(f" {c}%40 " for c in GOOD)
    assert read(tmp_path, content, columns=given) == (records_of(tmp_path, row()), [])


def test_a_header_counts_before_given_columns(tmp_path):
    assert read(tmp_path, table(row()), columns=("state",))[0] == records_of(tmp_path, row())


def test_without_a_header_and_columns_the_error_says_what_to_give(tmp_path):
    with pytest.raises(UnreadableInput, match="--columns"):
        read(tmp_path, table(row(), header=False))


@pytest.mark.parametrize("missing", ["State", "Submit", "Start", "End"])
def test_a_necessary_column_that_is_missing_is_named_with_what_to_do(tmp_path, missing):
    columns = tuple(c for c in GOOD if c != missing)
    with pytest.raises(UnreadableInput, match=rf"no column {missing.lower()} .*sacct -P .*-D"):
        read(tmp_path, table(row(), columns=columns))
    with pytest.raises(UnreadableInput, match=f"no column {missing.lower()} "):
        read(tmp_path, table(row(), columns=columns, header=False), columns=columns)


def test_a_header_without_any_job_id_is_refused(tmp_path):
    columns = tuple(c for c in GOOD if not c.startswith("JobID"))
    with pytest.raises(UnreadableInput, match="no column jobid "):
        read(tmp_path, table(row(), columns=columns))


def test_columns_that_are_not_necessary_may_be_missing(tmp_path):
    columns = ("JobIDRaw", "State", "Submit", "Start", "End")
    records, rejects = read(tmp_path, table(row(), columns=columns))
    assert records[0] == {
        "event": "job_submitted",
        "ts": "2026-10-01T10:00:00+00:00",
        "job": "7",
        "tier": "unknown",
    }
    assert rejects == []


def test_a_file_with_nothing_in_it_has_no_jobs(tmp_path):
    assert read(tmp_path, "") == ([], [])
    assert read(tmp_path, table()) == ([], [])


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Start": "foo"}, "bad_time: Start is 'foo'"),
        ({"Start": "2026-13-01T00:00:00"}, "bad_time: Start is '2026-13-01T00:00:00'"),
        ({"End": "0001-01-01T00:00:00+1400"}, "bad_time: End is '0001-01-01T00:00:00+1400'"),
        ({"End": "999999999999"}, "bad_time: End is '999999999999'"),
        ({"Eligible": "soon"}, "bad_time: Eligible is 'soon'"),
        ({"Submit": "Unknown"}, "bad_time: Submit is 'Unknown'"),
        (
            {"End": "2026-10-01T10:04:59"},
            "end_before_start: 2026-10-01T10:04:59 before 2026-10-01T10:05:00",
        ),
        ({"JobID": "", "JobIDRaw": ""}, "missing_job_id"),
        ({"JobID": "seven", "JobIDRaw": ""}, "bad_job_id: 'seven'"),
        ({"State": "SLEEPING"}, "unknown_state: 'SLEEPING'"),
        ({"State": ""}, "unknown_state: ''"),
        ({"JobName": "a|b"}, "wrong_columns: 17 where there should be 16"),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected_and_the_others_kept(tmp_path, changes, reason):
    bad = row(**changes)
    records, rejects = read(tmp_path, table(bad, row(JobID="8", JobIDRaw="8")))
    assert rejects == [Reject(2, reason, "|".join(bad.values()))]
    assert [r["job"] for r in records] == ["8", "8", "8"]


def test_lines_that_are_no_text_or_torn_are_rejected_in_their_place(tmp_path):
    whole = table(row(), row(JobID="8", JobIDRaw="8")).encode()
    content = whole.replace(b"\n8|", b"\n\xff\xfe|broken\n8|")[:-20]
    records, rejects = read(tmp_path, content)
    assert {r["job"] for r in records} == {"7"}
    assert [(r.line, r.reason.partition(":")[0]) for r in rejects] == [
        (3, "not_utf8"),
        (4, "wrong_columns"),
    ]


@pytest.mark.parametrize("size", range(0, 400, 7))
def test_a_file_cut_anywhere_never_ends_in_another_error(tmp_path, size):
    content = table(row(State="PREEMPTED"), row(**SECOND_RUN)).encode()[:size]
    try:
        read(tmp_path, content)
    except UnreadableInput as e:
        assert "sacct" in str(e)


# --- recognition ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (table(row()), True),
        (table(row(), header=False), True),
        (table().upper(), True),
        ("NodeName|TimeStart|TimeEnd|State|Reason|User\nn1|x|x|DOWN|x|root\n", False),
        ("job,attempt,step,ts,duration_s\n", False),
        ('{"event": "job_submitted"}\n', False),
        (":::MLLOG {}\n", False),
        ("a|b|c\n", False),
        ("", False),
        ("\x00\ufffd|||", False),
    ],
)
def test_an_export_is_known_by_what_is_in_it(head, known):
    assert Slurm().recognises(Path("anything.txt"), head) is known


# --- real exports ---------------------------------------------------------------------------------

XDMOD_COLUMNS = (
    "jobid jobidraw cluster partition qos account group gid user uid submit eligible start end "
    "elapsed exitcode state nnodes ncpus reqcpus reqmem reqtres alloctres timelimit nodelist "
    "jobname"
)


def real(name, **settings):
    items = list(Slurm().read(SHARED / name, Settings(POLICY, **settings)))
    assert not any(isinstance(i, Reject) for i in items)
    return [i.fields for i in items]


def of_job(records, job):
    return [r for r in records if r["job"] == job]


@needs_shared
def test_job_1_of_the_cluster_was_preempted_then_lost_a_node_then_completed():
    # grep '^1|' sacct_dup.psv: PREEMPTED 14:39:54 to 14:40:07, NODE_FAIL 14:42:43 to 14:43:38,
    # COMPLETED 14:45:57 to 14:47:29; first Submit 14:39:53.
    records = of_job(real("slurm/sacct_dup.psv"), "1")
    assert events(records) == [
        ("job_submitted", "14:39:53", None),
        ("resources_allocated", "14:39:54", 0),
        ("interruption", "14:40:07", "preemption"),
        ("resources_allocated", "14:42:43", 1),
        ("interruption", "14:43:38", "hardware"),
        ("resources_allocated", "14:45:57", 2),
        ("job_ended", "14:47:29", "completed"),
    ]
    assert records[1]["nodes"] == ["n1", "n2", "n3", "n4"]


@needs_shared
def test_without_d_only_the_last_run_is_there_as_attempt_0():
    records = of_job(real("slurm/sacct_nodup.psv"), "1")
    assert events(records) == [
        ("job_submitted", "14:43:49", None),
        ("resources_allocated", "14:45:57", 0),
        ("job_ended", "14:47:29", "completed"),
    ]


@needs_shared
def test_an_export_of_all_fields_with_job_steps_tells_the_same():
    some = real("slurm/sacct_dup.psv")
    extra = ("cluster", "user")
    every = [
        {k: v for k, v in r.items() if k not in extra} for r in real("slurm/sacct_all_fields.psv")
    ]
    assert every == some


@needs_shared
def test_the_trainer_19_was_preempted_once_and_lost_a_node_twice():
    records = of_job(real("slurm-training/sacct_dup.psv"), "19")
    causes = [r["cause"] for r in records if r["event"] == "interruption"]
    assert causes == ["preemption", "hardware", "hardware"]
    assert events(records)[-2:] == [
        ("resources_allocated", "15:46:01", 3),
        ("job_ended", "15:51:35", "completed"),
    ]


@needs_shared
def test_the_trainer_21_was_requeued_then_preempted_then_completed():
    records = of_job(real("slurm-training/sacct_dup.psv"), "21")
    assert events(records) == [
        ("job_submitted", "15:32:01", None),
        ("resources_allocated", "15:32:02", 0),
        ("interruption", "15:32:49", "unknown"),
        ("resources_allocated", "15:35:27", 1),
        ("interruption", "15:35:31", "preemption"),
        ("resources_allocated", "15:37:57", 2),
        ("job_ended", "15:42:10", "completed"),
    ]


@needs_shared
def test_the_array_27_is_six_jobs_by_their_raw_ids():
    records = real("slurm-training/sacct_dup.psv")
    names = {r["name"]: r["job"] for r in records if r.get("name", "").startswith("27_")}
    assert names == {
        "27_1": "28",
        "27_2": "29",
        "27_3": "30",
        "27_4": "31",
        "27_5": "32",
        "27_6": "27",
    }


@needs_shared
def test_the_headerless_export_has_4285_jobs_of_which_239_never_ran():
    # Counted in the raw file: awk -F'|' '{print $17}' gives 2,324 COMPLETED, 1,717 FAILED, 243
    # CANCELLED and 1 TIMEOUT; 239 rows have `None assigned`, all CANCELLED with Start = End.
    records = real("xdmod/phillips.log", columns=tuple(XDMOD_COLUMNS.split()))
    counts = Counter((r["event"], r.get("outcome")) for r in records)
    assert counts == {
        ("job_submitted", None): 4_285,
        ("resources_allocated", None): 4_285 - 239,
        ("job_ended", "completed"): 2_324,
        ("job_ended", "failed"): 1_717 + 1,
        ("job_ended", "cancelled"): 243,
    }
    first = of_job(records, "163485")
    assert first[0]["cluster"] == "phillips"
    assert first[1]["gpus"] == 2
    assert of_job(records, "165381")[1]["nodes"] == [
        f"cpn-f13-{rack}-{node}" for rack in ("03", "04", "05", "06") for node in ("01", "02")
    ]


@needs_shared
def test_of_all_shared_files_only_the_exports_are_known_as_such():
    files = [f for f in SHARED.rglob("*") if f.is_file()]
    known = {f.relative_to(SHARED) for f in files if Slurm().recognises(f, text.head(f))}
    assert {str(f) for f in known} == {
        "slurm/sacct_all_fields.psv",
        "slurm/sacct_dup.psv",
        "slurm/sacct_nodup.psv",
        "slurm-training/sacct_dup.psv",
        "xdmod/phillips.log",
    }

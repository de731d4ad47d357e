"""Runs as processes of the code server, with the answer to whether one still lives.

Without it a run whose code server was killed with it would count as running for ever, and keep the
queue of one writer closed.
"""

from typing import Any

import dagster as dg
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, DefaultRunLauncher, WorkerStatus
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's default launcher, which also says whether a run's process lives."""

    @property
    def supports_check_run_worker_health(self) -> bool:
        """It does."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Ask the code server that started the run whether it still holds the process."""
        known: Any = self._get_grpc_client_for_termination
        client = known(run.run_id)
        if client is None:
            # Begun by hand in a process of its own: nobody can be asked, so it is believed.
            return CheckRunHealthResult(WorkerStatus.RUNNING, "no code server started it")
        request = CanCancelExecutionRequest(run_id=run.run_id)
        try:
            answer = deserialize_value(
                client.can_cancel_execution(request), CanCancelExecutionResult
            )
        except DagsterUserCodeUnreachableError:
            return CheckRunHealthResult(WorkerStatus.FAILED, "its code server is gone")
        if answer.can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, "its process is gone")

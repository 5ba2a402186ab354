"""The supervisor of `pagefault serve --workers N`, which starts another worker when one ends."""

from uvicorn.supervisors import Multiprocess


class WorkerSupervisor(Multiprocess):
    """uvicorn's supervisor, which also notices at once that a worker ended during a health check.

    A health check waits up to `timeout_worker_healthcheck` for the worker's answer.
    """

    def keep_subprocess_alive(self) -> None:
        """Start another worker for each one that has ended or does not answer."""
        for process in self.processes:
            # A running worker has a copy of this end of the pipe. With the copy of the supervisor
            # open, the end of the worker does not end the wait for its answer.
            process.child_conn.close()
        super().keep_subprocess_alive()

"""The supervisor of `pagefault serve --workers N`, which starts another worker when one ends."""

from uvicorn.supervisors import Multiprocess


class WorkerSupervisor(Multiprocess):
    """uvicorn's supervisor, which also detects immediately that a worker ended in a health check.

    A health check waits up to `timeout_worker_healthcheck` for the reply of the worker.
    """

    def keep_subprocess_alive(self) -> None:
        """Replace each worker that has ended or does not reply."""
        for process in self.processes:
            # The worker has a copy of this end of the pipe. While the supervisor's copy is open,
            # the supervisor waits for a reply even after the worker has ended.
            process.child_conn.close()
        super().keep_subprocess_alive()

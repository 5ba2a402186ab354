"""The supervisor of `pagefault serve --workers N`, which replaces workers that have ended."""

from uvicorn.supervisors import Multiprocess


class WorkerSupervisor(Multiprocess):
    """uvicorn's supervisor, but a worker that ends during its health check is replaced at once.

    In uvicorn, the supervisor would wait for its reply for `timeout_worker_healthcheck`.
    """

    def keep_subprocess_alive(self) -> None:
        """Replace each worker that has ended or does not reply."""
        for process in self.processes:
            # Both processes have this end of the pipe open. After the worker has ended, the
            # supervisor reads an end of file only if it has closed its own copy.
            process.child_conn.close()
        super().keep_subprocess_alive()

"""The supervisor of several workers: one that ends is replaced, whenever that happens."""

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait

import pytest
import uvicorn
from uvicorn.supervisors.multiprocess import SIGNALS

from app.server.worker_supervisor import WorkerSupervisor
from tests.kit.process import WAIT_SECONDS

pytestmark = pytest.mark.engines("embedded")


@pytest.fixture
def supervisor() -> Iterator[WorkerSupervisor]:
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            "no:app", workers=1, log_config=None, timeout_worker_healthcheck=10 * int(WAIT_SECONDS)
        )
        supervisor = WorkerSupervisor(config, [listening])
        supervisor.init_processes()
        yield supervisor
        for worker in supervisor.processes:
            worker.kill()
        supervisor.join_all()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_worker_that_ends_during_its_health_check_is_replaced_without_waiting_for_its_answer(
    supervisor: WorkerSupervisor,
) -> None:
    (worker,) = supervisor.processes
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGSTOP)
    received = os.dup(worker.child_conn.fileno())
    with ThreadPoolExecutor() as threads:
        check = threads.submit(supervisor.keep_subprocess_alive)
        assert wait([received], WAIT_SECONDS), "no health check was sent"
        os.close(received)
        os.kill(worker.pid, signal.SIGKILL)
        check.result(WAIT_SECONDS)
    (replacement,) = supervisor.processes
    assert replacement.pid != worker.pid

"""Two processes over one database, killed at random, render the same session byte for byte."""

from collections.abc import Iterator
from contextlib import ExitStack
from random import Random

import httpx
import pytest

from pagefault_dialects.targets.table import TARGETS
from tests.contract.agent_sessions import entries_of, store
from tests.contract.session_requests import comparable
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.integration.sweep_stores import environment_of
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(TIMEOUT_SECONDS)]

CASES = times(50, 500)
_BUDGETS = (1_000, 4_000, 20_000)
_MAX_ENTRIES = 24
# Of so many cases, one has a process killed and started anew.
_CASES_PER_RESTART = times(5, 1)


class Processes:
    """Two processes over the same stores, each with a client."""

    def __init__(
        self, env: dict[str, str], stack: ExitStack, folder: "pytest.TempPathFactory"
    ) -> None:
        self._stack = stack
        self._processes = [
            stack.enter_context(PagefaultProcess(folder.mktemp("two"), env=env)) for _ in range(2)
        ]
        self._key = env.get("KEY")
        self.clients = [self._client(process) for process in self._processes]

    def restart(self, index: int) -> None:
        """Kill a process and start it anew."""
        self._processes[index].kill()
        self._processes[index].start()
        self.clients[index] = self._client(self._processes[index])

    def _client(self, process: PagefaultProcess) -> httpx.Client:
        return self._stack.enter_context(process.client(self._key))


@pytest.fixture(scope="module")
def processes(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    settings = backends.settings("server", tmp_path_factory.mktemp("stores"))
    env = environment_of(settings) | {"PAGEFAULT_AUTH": "none"}
    del env["PAGEFAULT_DATA_DIR"]
    with ExitStack() as stack:
        yield Processes(env, stack, tmp_path_factory)


def test_either_process_renders_a_session_byte_for_byte_as_the_other(
    processes: Processes,
) -> None:
    for seed in range(CASES):
        compare_case(processes, seed)
    tell(
        "Renderings of two processes",
        f"{CASES} sessions, {CASES // _CASES_PER_RESTART} restarts: the same bytes from either",
    )


def compare_case(processes: Processes, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - not for secrets
    target = random.choice([*TARGETS])
    query: dict[str, str | int] = {
        "target": target,
        "maxTokens": random.choice(_BUDGETS),
        "frontier": "main",
        "media": "reference",
    }
    entries = [*entries_of(seed)][:_MAX_ENTRIES]
    ends = sorted({*random.choices(range(1, len(entries)), k=2), len(entries)})
    path, start = f"/api/sessions/s{seed}/render", 0
    restarted = random.choice(ends)
    for end in ends:
        store(random.choice(processes.clients), f"s{seed}", *entries[start:end])
        start = end
        if end == restarted and seed % _CASES_PER_RESTART == 0:
            processes.restart(random.randrange(2))
        moved = random.choice(processes.clients).post(path, json=query)
        read = [client.get(path, params=query) for client in processes.clients]
        first, second = map(comparable, read)
        assert first == second, f"seed {seed}, {target}"
        assert first[0] == moved.status_code, moved.text[:500]
        if moved.status_code == 200:
            assert read[0].json()["messages"] == moved.json()["messages"]

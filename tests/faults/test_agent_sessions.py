"""Sessions of agents at work, rendered by services that know them and by one that does not."""

from collections.abc import Sequence
from contextlib import ExitStack
from random import Random

import httpx
import pytest

from app.config.settings import Settings
from pagefault_dialects.targets.sequence_rules import find_sequence_faults
from pagefault_dialects.targets.table import TARGETS
from tests.contract.agent_sessions import Json, entries_of, store
from tests.contract.session_requests import comparable
from tests.faults.lengths import TIMEOUT_SECONDS, times
from tests.kit.servers import serving
from tests.providers import CHECKS

pytestmark = [pytest.mark.engines("embedded"), pytest.mark.timeout(TIMEOUT_SECONDS)]

CASES = times(30, 500)
_BUDGETS = (1_000, 2_000, 8_000, 20_000)
_MAX_ENTRIES = 40
# After so many cases, a service that knows nothing takes the place of the one that reads.
_CASES_PER_SERVICE = 5


def test_session_of_an_agent_is_rendered_the_same_whatever_is_remembered(
    settings: Settings,
) -> None:
    open_settings = settings.model_copy(update={"auth": "none"})
    with ExitStack() as stack:
        writing = stack.enter_context(serving(open_settings))
        clients = [stack.enter_context(writing.client())]
        for seed in range(CASES):
            if seed % _CASES_PER_SERVICE == 0:
                reading = stack.enter_context(serving(open_settings))
                clients[1:] = [stack.enter_context(reading.client())]
            check_session(clients, seed)


def check_session(clients: Sequence[httpx.Client], seed: int) -> None:
    random = Random(seed)  # noqa: S311 - not for secrets
    query: dict[str, str | int] = {
        "target": random.choice([*TARGETS]),
        "maxTokens": random.choice(_BUDGETS),
        "frontier": "main",
        "media": "reference",
    }
    entries = [*entries_of(seed)][:_MAX_ENTRIES]
    ends = sorted({*random.choices(range(1, len(entries)), k=4), len(entries)})
    path, start, before = f"/api/sessions/s{seed}/render", 0, list[Json]()
    for end in ends:
        store(clients[0], f"s{seed}", *entries[start:end])
        start = end
        moved = random.choice(clients).post(path, json=query)
        read = [comparable(client.get(path, params=query)) for client in clients]
        assert read[0] == read[1], f"seed {seed}"
        if moved.status_code == 422:
            assert moved.json()["code"] == "budget-too-small"
            continue
        record = moved.json()
        check_record(record, before, query, f"seed {seed}")
        before = record["messages"]


def check_record(record: Json, before: Sequence[Json], query: Json, case: str) -> None:
    messages, target = record["messages"], query["target"]
    assert record["tokensEst"] <= query["maxTokens"], case
    open_calls = record.get("openCalls", [])
    assert find_sequence_faults(messages, target, open_calls=open_calls) == [], case
    if not open_calls:
        CHECKS[target](messages)
    stable = record["stableThrough"]
    assert messages[:stable] == before[:stable], case

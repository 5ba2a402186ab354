"""An object store that refuses, hangs and loses answers: told, retried, and never half done."""

import base64
import threading
from pathlib import Path

import httpx
import pytest

from tests.faults.faulty_store import Fault, FaultyStore
from tests.faults.lengths import LONG, TIMEOUT_SECONDS, tell, times
from tests.kit.media import noise_bytes, png
from tests.kit.process import WAIT_SECONDS
from tests.kit.servers import Backends, LiveService, serving

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(TIMEOUT_SECONDS)]

SHARES: dict[Fault, float] = {"refused": 0.3, "hangs": 0.1, "answer lost": 0.05}
MOST: dict[Fault, int] = {} if LONG else {"hangs": 1}
WRITERS = 8
CALLS = times(5, 20)
TRIES = 40


def images(writer: int, number: int) -> list[bytes]:
    """Two pictures of a result, one of which goes up in parts."""
    large = noise_bytes(6_000_000 if number == 0 else 40_000)
    return [png(50 + writer, 40 + number, noise=True), png(60 + writer, 41 + number) + large]


def write_until_acknowledged(
    service: LiveService, key: str, writer: int, written: dict[str, list[bytes]], said: list[str]
) -> None:
    """Hand results over, each again and again until it is taken."""
    with service.client(key) as client:
        client.timeout = httpx.Timeout(WAIT_SECONDS)
        for number in range(CALLS):
            sent = images(writer, number)
            blocks = [{"type": "image", "data": base64.b64encode(item).decode()} for item in sent]
            call = {"toolName": "t", "toolCallId": f"c{number}", "sessionId": f"s{writer}"}
            body = {**call, "result": {"content": blocks}}
            for _ in range(TRIES):
                answer = client.post("/api/tool-results", json=body)
                if answer.status_code in (200, 201):
                    written[answer.headers["location"]] = sent
                    break
                if answer.status_code != 503 or "retry-after" not in answer.headers:
                    said.append(f"{answer.status_code} {answer.text}")
            else:
                said.append(f"{number} was never taken")


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "An object store that refuses everything is asked four times for a file, and no more",
    kept_by="app/stores/blobs/s3_objects.py",
    tried="4 requests, 503, 0 rows",
)
def test_store_that_refuses_everything_is_asked_four_times_for_a_file_and_no_more(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    with FaultyStore(backends.object_store.endpoint_url, {"refused": 1.0}) as store:
        store.is_faulty = False
        blobs = settings.blobs.model_copy(update={"s3_endpoint": store.endpoint_url})
        with serving(settings.model_copy(update={"blobs": blobs})) as service:
            key = service.new_key()
            store.is_faulty = True
            with service.client(key) as client:
                answer = client.post("/api/resources", content=png())
                kept = client.get("/api/resources").json()["items"]
    assert (answer.status_code, answer.json()["code"]) == (503, "store-unavailable")
    assert answer.headers["retry-after"].isdigit()
    assert kept == []
    assert store.met == {"refused": 4}


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "An object store that refuses, hangs and loses answers is asked again; no row is "
        "written before its object is stored"
    ),
    kept_by="app/stores/blobs/s3_objects.py",
    tried="30 % refused, 5 % of the answers lost, 1 that hangs; long: 10 % that hang",
)
def test_results_are_whole_or_refused_though_a_store_fails_every_other_time(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    with FaultyStore(backends.object_store.endpoint_url, SHARES, most=MOST, seed=7) as store:
        # The service starts before the faults do.
        store.is_faulty = False
        blobs = settings.blobs.model_copy(update={"s3_endpoint": store.endpoint_url})
        with serving(settings.model_copy(update={"blobs": blobs})) as service:
            key = service.new_key()
            store.is_faulty = True
            written: dict[str, list[bytes]] = {}
            said: list[str] = []
            writers = [
                threading.Thread(
                    target=write_until_acknowledged, args=(service, key, number, written, said)
                )
                for number in range(WRITERS)
            ]
            for span in writers:
                span.start()
            for item in writers:
                item.join(TIMEOUT_SECONDS)
            store.is_faulty = False
            assert said == []
            assert len(written) == WRITERS * CALLS
            assert store.met["refused"] > 0
            assert store.met["hangs"] > 0
            assert store.met["answer lost"] > 0
            with service.client(key) as client:
                for place, sent in written.items():
                    resources = client.get(place).json()["sanitized"]["resources"]
                    contents = [
                        client.get(
                            f"/api/resources/{resource['uri'].removeprefix('blob:')}/content"
                        ).content
                        for resource in resources
                    ]
                    assert contents == sent
                for writer in range(WRITERS):
                    page = client.get(f"/api/sessions/s{writer}/messages?limit=200").json()
                    assert [item["toolCallId"] for item in page["items"]] == [
                        f"c{number}" for number in range(CALLS)
                    ]
    met = ", ".join(f"{count} {fault}" for fault, count in sorted(store.met.items()))
    tell("The object store fails", f"{len(written)} results whole, {met}: 0 lost, 0 half done")

"""kill -9 in the middle of a large ingest: acknowledged is kept, the rest is absent or whole.

The moment of each kill follows the progress of the upload (bytes sent, then bytes the store has
got, then the answer), so no run depends on how fast the machine is.

`KILL_ROUNDS=long` asks for more moments and a larger medium:

    KILL_ROUNDS=long python -m pytest tests/e2e/test_kill.py
"""

import base64
import hashlib
import http.client
import json
import os
import select
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.stored_state import EmbeddedState, ResourceRow, ServerState, StoredState
from tests.kit.process import WAIT_SECONDS, PagefaultProcess
from tests.kit.servers import Backends

LONG = os.environ.get("KILL_ROUNDS") == "long"
"""True for twenty kills during an ingest of a hundred million bytes, instead of four."""

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(1_800 if LONG else 240)]

MEDIUM_BYTES = 100_000_000 if LONG else 24_000_000
HEAD_BYTES = 48
_CHUNK_BYTES = 1024 * 1024


class Moment(NamedTuple):
    """When to kill: after a share of the body is sent, then after so much has reached the store.

    `stored` is a share of the medium. With `answered`, the whole answer is read before.
    """

    sent: float
    stored: float = 0.0
    answered: bool = False


WHILE_SENDING = [Moment(share / 8) for share in (range(9) if LONG else (4,))]
WHILE_STORING = [
    Moment(1, share)
    for share in ((1e-9, 0.1, 0.25, 0.4, 0.6, 0.75, 0.9, 1) if LONG else (1e-9, 0.9))
]
ANSWERED = [Moment(1, answered=True)] * (3 if LONG else 1)
WITH_SERVER_STORES = [Moment(0.5), ANSWERED[0], Moment(1, 1e-9)]
if LONG:
    WITH_SERVER_STORES += [Moment(1), ANSWERED[0]]


class LargeMedium:
    """A video of many millions of bytes, made once; each round has its own head."""

    def __init__(self) -> None:
        rest = hashlib.shake_128(b"kill").digest(MEDIUM_BYTES - HEAD_BYTES)
        self._base64 = memoryview(base64.b64encode(rest))
        self._rest = rest

    def digest(self, number: int) -> str:
        """The SHA-256 of a round's bytes."""
        return hashlib.sha256(self._head(number) + self._rest).hexdigest()

    def body(self, number: int) -> list[memoryview]:
        """The pieces of a round's request."""
        content = {"type": "resource", "resource": {"uri": "file:///long.mp4", "blob": "BYTES"}}
        content["resource"]["mimeType"] = "video/mp4"  # type: ignore[index]
        request = {
            "toolName": "camera",
            "toolCallId": f"call-{number}",
            "sessionId": "kill",
            "result": {"content": [content]},
        }
        before, after = json.dumps(request).encode().split(b"BYTES")
        before += base64.b64encode(self._head(number))
        ends = range(0, len(self._base64), _CHUNK_BYTES)
        middle = [self._base64[start : start + _CHUNK_BYTES] for start in ends]
        return [memoryview(before), *middle, memoryview(after)]

    def _head(self, number: int) -> bytes:
        kind = b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41"
        media_data = (MEDIUM_BYTES - len(kind)).to_bytes(4, "big") + b"mdat"
        return kind + media_data + number.to_bytes(8, "big")


@dataclass
class Rounds:
    """Uploads that are killed, all to one service on the same stores."""

    process: PagefaultProcess
    state: StoredState
    medium: LargeMedium
    acknowledged: dict[str, bytes] = field(default_factory=dict)
    checked: set[ResourceRow] = field(default_factory=set)

    def run(self, number: int, moment: Moment) -> None:
        """Upload, kill, start again, and look at everything."""
        answer = self._upload_until(number, moment)
        self.process.start()
        self._check_rows()
        if answer is not None:
            record = json.loads(answer)
            digests = [resource["digest"] for resource in record["sanitized"]["resources"]]
            assert digests == [f"sha-256:{self.medium.digest(number)}"]
            self.acknowledged[record["id"]] = answer
        self._check_records()

    def _upload_until(self, number: int, moment: Moment) -> bytes | None:
        """The acknowledgement, if one came before the process was killed."""
        body = self.medium.body(number)
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.process.port, timeout=WAIT_SECONDS
        )
        try:
            before = self.state.bytes_on_their_way()
            connection.putrequest("POST", "/api/tool-results")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(sum(map(len, body))))
            connection.endheaders()
            for piece in body[: round(moment.sent * len(body))]:
                connection.send(piece)
            if moment.stored:
                self._wait(connection, before, moment.stored)
            if moment.answered:
                answer = _acknowledgement(connection)
                self.process.kill()
                return answer
            self.process.kill()
            return _acknowledgement(connection)
        finally:
            connection.close()

    def _wait(self, connection: http.client.HTTPConnection, before: int, stored: float) -> None:
        """Return when the store has got its share of the medium, at the latest with the answer."""
        wanted = before + max(1, round(stored * MEDIUM_BYTES))
        deadline = time.monotonic() + WAIT_SECONDS
        while self.state.bytes_on_their_way() < wanted:
            # Waiting for the answer takes the pause between two looks.
            if select.select([connection.sock], [], [], 0.002)[0]:
                return
            assert time.monotonic() < deadline

    def _check_rows(self) -> None:
        """Every row has its blob; one not seen before has the right bytes, by either way."""
        rows = self.state.rows()
        assert {row: self.state.size(row) for row in rows} == {row: row.size_bytes for row in rows}
        for row in set(rows) - self.checked:
            served = self._served_digest(row)
            assert (row.size_bytes, self.state.digest(row), served) == (
                *(MEDIUM_BYTES, row.digest),
                row.digest,
            )
            self.checked.add(row)

    def _served_digest(self, row: ResourceRow) -> str:
        hasher = hashlib.sha256()
        with (
            self.process.client() as client,
            client.stream("GET", f"/api/resources/{row.resource_id}/content") as answer,
        ):
            for chunk in answer.raise_for_status().iter_bytes():
                hasher.update(chunk)
        return hasher.hexdigest()

    def _check_records(self) -> None:
        """Check that acknowledged results read back the same, and that the history is whole."""
        with self.process.client() as client:
            read = {
                identity: client.get(f"/api/tool-results/{identity}").content
                for identity in self.acknowledged
            }
            history = client.get("/api/sessions/kill/messages")
        assert read == self.acknowledged
        messages = history.json()["items"] if history.is_success else []
        assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
        assert self.acknowledged.keys() <= {message["id"] for message in messages}
        assert _referred(messages) == {f"blob:{row.resource_id}" for row in self.checked}


def _referred(messages: list[dict[str, Any]]) -> set[str]:
    return {
        resource["uri"] for message in messages for resource in message["sanitized"]["resources"]
    }


def _acknowledgement(connection: http.client.HTTPConnection) -> bytes | None:
    try:
        answer = connection.getresponse()
        body = answer.read()
    except (ConnectionError, http.client.HTTPException):
        return None
    assert answer.status == 201
    return body


@pytest.fixture(scope="module")
def medium() -> LargeMedium:
    return LargeMedium()


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A data directory that does not stay: it grows to some gigabytes."""
    folder = tmp_path / "data"
    yield folder
    shutil.rmtree(folder)


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "A server killed in the middle of a large ingest leaves no row without its blob",
    kept_by="app/services/tool_results/tool_results.py",
    tried="4 kills; long: 20",
)
@pytest.mark.requirement("design-row-never-without-blob")
def test_kills_during_an_ingest_leave_no_row_without_its_blob(
    data_dir: Path, medium: LargeMedium
) -> None:
    state = EmbeddedState(data_dir)
    with PagefaultProcess(data_dir) as process:
        rounds = Rounds(process, state, medium)
        for number, moment in enumerate([*WHILE_SENDING, *ANSWERED, *WHILE_STORING]):
            rounds.run(number, moment)
        assert len(rounds.acknowledged) >= len(ANSWERED)
        assert {row: state.digest(row) for row in rounds.checked} == {
            row: row.digest for row in rounds.checked
        }


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "A server killed during an ingest into PostgreSQL and S3 leaves no row without its blob",
    kept_by="app/stores/blobs/s3.py",
    tried="3 kills; long: 5",
)
@pytest.mark.requirement("design-both-engines")
def test_kills_with_server_stores_leave_no_row_without_its_blob(
    backends: Backends, data_dir: Path, medium: LargeMedium
) -> None:
    state = ServerState(backends)
    with PagefaultProcess(data_dir, env=state.env) as process:
        rounds = Rounds(process, state, medium)
        for number, moment in enumerate(WITH_SERVER_STORES):
            rounds.run(number, moment)
        assert len(rounds.acknowledged) >= WITH_SERVER_STORES.count(ANSWERED[0])

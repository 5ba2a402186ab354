"""Two processes behind nginx over PostgreSQL and S3, configured as in `deploy/nginx`."""

import base64
import hashlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx
import pytest

from tests.e2e.stored_state import ServerState
from tests.kit.media import png
from tests.kit.nginx import Nginx, balancing
from tests.kit.process import WAIT_SECONDS, PagefaultProcess
from tests.kit.servers import Backends

pytestmark = pytest.mark.xdist_group("heavy")

WRITERS = 4
MORE_ANSWERS = 8
"""The answers between two steps, so that each step happens under load."""


@dataclass
class Answers:
    """The answers of the proxy, and a way to wait for more of them."""

    written: dict[str, bytes] = field(default_factory=dict)
    """By address, every record that was acknowledged."""
    refused: list[str] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def add(self, answer: httpx.Response) -> None:
        """Note one."""
        with self.arrived:
            if answer.status_code == 201:
                self.written[answer.headers["location"]] = answer.content
            else:
                self.refused.append(f"{answer.status_code} {answer.text}")
            self.arrived.notify_all()

    def fail(self, error: httpx.HTTPError) -> None:
        """Note that there was none."""
        with self.arrived:
            self.refused.append(repr(error))
            self.arrived.notify_all()

    def wait_for_more(self) -> None:
        """Return when some more have come."""
        with self.arrived:
            enough = len(self.written) + MORE_ANSWERS
            assert self.arrived.wait_for(
                lambda: len(self.written) >= enough or self.refused, WAIT_SECONDS
            )


def write(client: httpx.Client, writer: int, number: int) -> httpx.Response:
    """Hand a picture over."""
    image = base64.b64encode(png(40 + writer, 30 + number % 50, noise=True)).decode()
    block = {"type": "image", "data": image, "mimeType": "image/png"}
    call = {"toolName": "look", "toolCallId": f"c{number}", "sessionId": f"s{writer}"}
    return client.post("/api/tool-results", json={**call, "result": {"content": [block]}})


@contextmanager
def writing(base_url: str) -> Iterator[Answers]:
    """Several clients write on and on, each request over a connection of its own."""
    answers, is_over = Answers(), threading.Event()

    def write_on(writer: int) -> None:
        with client_of(base_url) as client:
            for number in count():
                if is_over.is_set():
                    return
                try:
                    answers.add(write(client, writer, number))
                except httpx.HTTPError as error:
                    answers.fail(error)

    writers = [threading.Thread(target=write_on, args=(item,)) for item in range(WRITERS)]
    for span in writers:
        span.start()
    try:
        yield answers
    finally:
        is_over.set()
        for item in writers:
            item.join(WAIT_SECONDS)


@dataclass(frozen=True)
class Pair:
    """Two processes over the same stores, and nginx before them."""

    processes: list[PagefaultProcess]
    nginx: Nginx

    def client(self) -> httpx.Client:
        """A client with a connection for each request, so that both processes are asked."""
        return client_of(self.nginx.base_url)


@pytest.fixture(scope="module")
def pair(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    # Without keys, as nobody should run it behind a proxy, the name of the upstream is listed.
    env = {**ServerState(backends).env, "PAGEFAULT_ALLOWED_HOSTS": "pagefault"}
    with (
        PagefaultProcess(folder / "one", env=env) as one,
        PagefaultProcess(folder / "two", env=env) as two,
        Nginx(folder, balancing(*addresses([one, two]))) as nginx,
    ):
        yield Pair([one, two], nginx)


def client_of(base_url: str) -> httpx.Client:
    """A client that never uses a connection twice; close it."""
    headers = {"Connection": "close"}
    return httpx.Client(base_url=base_url, headers=headers, timeout=WAIT_SECONDS, trust_env=False)


def addresses(processes: list[PagefaultProcess]) -> list[str]:
    """Return the addresses of the processes, for nginx."""
    return [f"127.0.0.1:{process.port}" for process in processes]


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "Processes behind a proxy are restarted one by one without a failed request",
    kept_by="app/server/uvicorn_config.py",
    tried="2 processes, 0 failed",
)
def test_processes_are_restarted_one_after_the_other_without_a_failed_request(pair: Pair) -> None:
    with writing(pair.nginx.base_url) as answers:
        for index, process in enumerate(pair.processes):
            answers.wait_for_more()
            places = addresses(pair.processes)
            places[index] += " down"
            pair.nginx.reload(balancing(*places))
            assert process.stop() == -signal.SIGTERM
            answers.wait_for_more()
            process.start()
            pair.nginx.reload(balancing(*addresses(pair.processes)))
        answers.wait_for_more()
    assert answers.refused == []
    with pair.client() as client:
        stored = {place: client.get(place).content for place in answers.written}
        assert stored == answers.written


@pytest.mark.promise(
    "durability.md#several-at-once",
    "The same tool call sent to two processes at once is one record",
    kept_by="app/services/tool_results/tool_results.py",
    tried="4 at once",
)
def test_the_same_call_at_once_through_both_processes_is_one_record(pair: Pair) -> None:
    got: list[tuple[int, bytes]] = []
    together = threading.Barrier(WRITERS)

    def write_once() -> None:
        with pair.client() as client:
            together.wait(WAIT_SECONDS)
            answer = write(client, WRITERS, 0)
            got.append((answer.status_code, answer.content))

    writers = [threading.Thread(target=write_once) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(WAIT_SECONDS)
    assert sorted(status for status, _ in got) == [200] * (WRITERS - 1) + [201]
    assert len({body for _, body in got}) == 1
    for process in pair.processes:
        with process.client() as client:
            (entry,) = client.get(f"/api/sessions/s{WRITERS}/messages").json()["items"]
            resource = entry["sanitized"]["resources"][0]
            place = f"/api/resources/{resource['uri'].removeprefix('blob:')}/content"
            content = client.get(place).content
            assert f"sha-256:{hashlib.sha256(content).hexdigest()}" == resource["digest"]


def test_a_process_that_is_killed_is_passed_over(pair: Pair) -> None:
    pair.processes[0].kill()
    with pair.client() as client:
        numbers = range(1, 7)
        assert [write(client, WRITERS, number).status_code for number in numbers] == [201] * 6
    pair.processes[0].start()
    pair.nginx.reload(balancing(*addresses(pair.processes)))


@pytest.mark.promise(
    "security.md#links-and-keys",
    "Routes for operators that need no key do not pass the documented proxy",
    kept_by="deploy/nginx/pagefault.conf",
    tried="`/metrics`, `/readyz`",
)
def test_what_asks_for_no_key_and_is_for_operators_does_not_pass_the_proxy(pair: Pair) -> None:
    with pair.client() as client:
        passed = {
            path: client.get(path).status_code for path in ("/healthz", "/metrics", "/readyz")
        }
    with pair.processes[0].client() as client:
        own = {path: client.get(path).status_code for path in passed}
    assert passed == {"/healthz": 200, "/metrics": 404, "/readyz": 404}
    assert own == dict.fromkeys(passed, 200)


@pytest.mark.promise(
    "security.md#links-and-keys",
    "The documented proxy compresses histories and lists, and no stored bytes, links or guards",
    kept_by="deploy/nginx/pagefault.conf",
    tried="6 routes",
)
def test_histories_and_lists_are_compressed_and_nothing_else_is(pair: Pair) -> None:
    text = "much the same text, again and again; " * 100
    history = "/api/sessions/zip/messages"
    with pair.client() as client:
        message = {"role": "user", "content": text}
        assert client.post(history, json=message).status_code == 201
        stored = client.post(
            "/api/resources", json=text, headers={"Content-Type": "application/json"}
        ).headers["location"]
        page = {"modality": "text", "content": text}
        assert client.put("/api/pages/zipped", json=page).status_code == 201
        unchanged = [f"{history}/1", f"{stored}/content", f"{stored}/text", "/api/pages/zipped"]
        answers = {path: client.get(path) for path in (history, *unchanged)}
        known = client.get(history, headers={"If-None-Match": answers[history].headers["etag"]})
        refused = client.get(history, headers={"Accept-Encoding": "gzip;q=0"})
        document = client.get("/openapi.json")
    codings = {
        path: (
            answer.status_code,
            answer.headers.get("content-encoding"),
            answer.headers["etag"][0],
        )
        for path, answer in answers.items()
    }
    assert codings == {history: (200, "gzip", "W"), **dict.fromkeys(unchanged, (200, None, '"'))}
    assert document.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in answers[history].headers["vary"]
    assert (known.status_code, known.content) == (304, b"")
    assert "content-encoding" not in refused.headers
    assert refused.json() == answers[history].json()

"""Streams of two processes behind nginx, configured as in `deploy/nginx`."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.e2e.stored_state import ServerState
from tests.kit.event_streams import Block, listening
from tests.kit.listening_sockets import TRY_AGAIN_LATER, closed, read_event, socket_of
from tests.kit.nginx import Nginx, balancing
from tests.kit.process import WAIT_SECONDS, PagefaultProcess
from tests.kit.servers import Backends

pytestmark = pytest.mark.xdist_group("heavy")

SAID = ["before anybody listens", "one", "two", "while nobody listens", "at last"]
SERVICE_RESTART = 1012
COME_BACK = (SERVICE_RESTART, TRY_AGAIN_LATER)


@dataclass(frozen=True)
class Pair:
    """Two processes over the same stores, nginx before them, and a client of nginx."""

    processes: list[PagefaultProcess]
    nginx: Nginx
    client: httpx.Client

    def the_one_listened_to(self) -> PagefaultProcess:
        """The process that has the one stream."""
        streams = self.listened_to()
        assert sorted(streams) == [0, 1]
        return self.processes[streams.index(1)]

    def start_again(self, process: PagefaultProcess) -> None:
        """Have both processes again."""
        process.start()
        self.nginx.reload(balancing(*_addresses(self.processes)))

    def listened_to(self) -> list[int]:
        """Return the number of streams of each process."""
        return [_streams(process) for process in self.processes]

    def say(self, session_id: str, text: str) -> None:
        """Add a message to a session."""
        message = {"role": "user", "content": text}
        said = self.client.post(f"/api/sessions/{session_id}/messages", json=message)
        assert said.status_code == 201, said.text


def _streams(process: PagefaultProcess) -> int:
    with process.client() as client:
        (figure,) = (
            line
            for line in client.get("/metrics").text.splitlines()
            if line.startswith("pagefault_event_streams ")
        )
    return int(float(figure.split()[1]))


def _addresses(processes: list[PagefaultProcess]) -> list[str]:
    return [f"127.0.0.1:{process.port}" for process in processes]


def text_of(block: Block) -> str:
    """Return the text of a received message."""
    text: str = block.told["message"]["content"]
    return text


@pytest.fixture(scope="module")
def pair(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    # Without keys, as nobody should run it behind a proxy, the name of the upstream is listed.
    env = {**ServerState(backends).env, "PAGEFAULT_ALLOWED_HOSTS": "pagefault"}
    # Everybody is one project's where there is no authentication; the key is shown and not asked.
    headers = {"Connection": "close", "Authorization": "Bearer none"}
    with (
        PagefaultProcess(folder / "one", env=env) as one,
        PagefaultProcess(folder / "two", env=env) as two,
        Nginx(folder, balancing(*_addresses([one, two]))) as nginx,
        httpx.Client(
            base_url=nginx.base_url, headers=headers, timeout=WAIT_SECONDS, trust_env=False
        ) as client,
    ):
        yield Pair([one, two], nginx, client)


@pytest.mark.promise(
    "durability.md#the-process-dies",
    (
        "A listener behind a proxy receives events at once, and continues at another process "
        "when its own is killed"
    ),
    kept_by="deploy/nginx/pagefault.conf",
    tried="5 events, a kill",
)
def test_stream_hears_at_once_and_goes_on_at_the_other_process(pair: Pair) -> None:
    pair.say("stream", "before anybody listens")
    path = "/api/sessions/stream/events"
    with listening(pair.client, path, after=0) as stream:
        heard = [stream.next()]
        # Each is heard before the next is said: nothing waits in nginx for more to come.
        for text in ("one", "two"):
            pair.say("stream", text)
            heard.append(stream.next())
        killed = pair.the_one_listened_to()
        killed.kill()
    pair.say("stream", "while nobody listens")
    with listening(pair.client, path, last_event_id=heard[-1].id) as stream:
        heard.append(stream.next())
        pair.say("stream", "at last")
        heard.append(stream.next())
    assert [text_of(block) for block in heard] == SAID
    pair.start_again(killed)


@pytest.mark.promise(
    "durability.md#the-process-dies",
    (
        "A WebSocket behind a proxy receives events at once, and continues at another process"
        " when its own is restarted"
    ),
    kept_by="deploy/nginx/pagefault.conf",
    tried="5 events, a restart",
)
def test_socket_hears_at_once_and_goes_on_at_the_other_process(pair: Pair) -> None:
    pair.say("socket", "before anybody listens")
    with socket_of(pair.client, session_id="socket") as socket:
        socket.send('{"after": 0}')
        heard = [read_event(socket)]
        for text in ("one", "two"):
            pair.say("socket", text)
            heard.append(read_event(socket))
        ended = pair.the_one_listened_to()
        ended.stop()
        assert closed(socket) in COME_BACK
    pair.say("socket", "while nobody listens")
    with socket_of(pair.client, session_id="socket") as socket:
        socket.send(f'{{"after": {heard[-1].id}}}')
        heard.append(read_event(socket))
        pair.say("socket", "at last")
        heard.append(read_event(socket))
    assert [text_of(block) for block in heard] == SAID
    pair.start_again(ended)

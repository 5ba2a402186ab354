"""Images that take long to decode: they cost their own project, while their clients wait."""

import base64
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.kit.bombs import jpeg_of_scans
from tests.kit.child_processes import ChildProcess, children_of
from tests.kit.images import picture, saved
from tests.kit.process import WAIT_SECONDS, PagefaultProcess

pytestmark = pytest.mark.xdist_group("costly images")
LARGE = saved(picture(1_200, 1_000), "JPEG")
MAX_SECONDS_AFTER = 2.0
_HELD = re.compile(r"^pagefault_memory_held_bytes (\S+)$", re.MULTILINE)
# The body that it comes in is counted as far less.
_OF_AN_IMAGE = 16 * 1024 * 1024


class Service(PagefaultProcess):
    """`pagefault serve`, and the process in which it decodes images."""

    def __enter__(self) -> "Service":
        super().__enter__()
        return self

    def worker(self) -> ChildProcess:
        """The process that decodes; an image that needs it has been made."""
        (child,) = children_of(self.pid)
        return child

    def put(self, page: str, data: bytes, mime_type: str = "image/jpeg") -> httpx.Response:
        with self.client() as client:
            return client.put(f"/api/pages/{page}", json=_page(data, mime_type))

    def ask(self, page: str, data: bytes) -> socket.socket:
        """Send a page without waiting for the answer; the client leaves when this is closed."""
        request = httpx.Request("PUT", f"{self.base_url}/api/pages/{page}", json=_page(data))
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        asking = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_SECONDS)
        asking.sendall(f"PUT /api/pages/{page} HTTP/1.1\r\n{head}\r\n".encode())
        asking.sendall(request.content)
        return asking

    def wait_for_held_memory(self) -> None:
        """Return when an image is being decoded, for which its memory is held."""
        with self.client() as client:
            while _held_bytes(client) < _OF_AN_IMAGE:
                pass


def _held_bytes(client: httpx.Client) -> float:
    found = _HELD.search(client.get("/metrics").text)
    assert found
    return float(found[1])


def _page(data: bytes, mime_type: str = "image/jpeg") -> dict[str, str]:
    encoded = base64.b64encode(data).decode()
    return {"modality": "image", "content": f"data:{mime_type};base64,{encoded}"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service that has started its worker."""
    with Service(tmp_path / "data") as started:
        assert started.put("first", LARGE).status_code == 201
        yield started


@pytest.fixture
def stopped(service: Service) -> ChildProcess:
    """The worker of the service, which does not go on with anything from now on."""
    worker = service.worker()
    worker.send(signal.SIGSTOP)
    return worker


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Two seconds after its client has left, an image is no longer decoded",
    kept_by="app/services/concurrency/client_disconnects.py",
    tried="a decoder that never answers: ended within 2 s",
)
def test_worker_is_ended_when_the_client_has_left(service: Service, stopped: ChildProcess) -> None:
    with service.ask("left", LARGE + b"another"):
        service.wait_for_held_memory()
    stopped.wait_until_gone(MAX_SECONDS_AFTER)
    assert service.put("next", LARGE + b"a third").status_code == 201
    with service.client() as client:
        assert client.get("/api/pages/left").status_code == 404


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "An image that takes long to decode lets no quick one wait",
    kept_by="app/services/images/image_work.py",
    tried="300x300 beside a decoder that never answers",
)
def test_quick_image_does_not_wait_for_a_costly_one(
    service: Service, stopped: ChildProcess
) -> None:
    with service.ask("costly", LARGE + b"another"):
        service.wait_for_held_memory()
        assert service.put("quick", saved(picture(300, 300), "PNG")).status_code == 201
        assert stopped.is_stopped


def test_worker_ends_with_the_service(service: Service, stopped: ChildProcess) -> None:
    with service.ask("last", LARGE + b"another"):
        service.wait_for_held_memory()
        service.stop()
    stopped.wait_until_gone(WAIT_SECONDS)


def test_worker_ends_when_the_service_was_killed(service: Service) -> None:
    worker = service.worker()
    os.kill(service.pid, signal.SIGKILL)
    worker.wait_until_gone(WAIT_SECONDS)


def test_jpeg_of_many_scans_is_kept_whole_and_named_in_the_loss(service: Service) -> None:
    data = jpeg_of_scans(2_500, 2_010)
    block = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/jpeg"}
    call = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "result": block}
    with service.client() as client:
        stored = client.post("/api/tool-results", json=call)
        (resource,) = stored.json()["sanitized"]["resources"]
        assert client.get(f"/api/resources/{resource['uri']}/content").content == data
        query = "target=anthropic&accept=image/png,text/plain"
        rendered = client.get(f"/api/sessions/s/render?{query}")
    (step,) = [item for item in rendered.json()["loss"] if item["from"] == "original"]
    assert (step["from"], step["to"], step["code"]) == (
        *("original", "placeholder"),
        "not-accepted",
    )
    assert step["reason"] == (
        "image/jpeg is not among what `accept` names. To decode it takes 2010 passes over 6250000 "
        "pixels, which is too much work, so no smaller image is made of it."
    )

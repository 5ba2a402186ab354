"""Files that were damaged or lost behind the service's back, met over HTTP on both engines."""

import secrets
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.contract.bundled_sessions import SESSION, make_small_session
from tests.contract.page_requests import data_uri, outcome, put, read
from tests.contract.render_cases import image_block
from tests.contract.session_requests import append, ask, call_tool, rich, upload
from tests.contract.upload_requests import DATA, begin, content, offset_of, send
from tests.integration.sweep_stores import BehindTheStore, ProjectFiles
from tests.kit import media
from tests.kit.servers import LiveService

PIECE_BYTES = 100_000
PIECES = [DATA[start : start + PIECE_BYTES] for start in range(0, len(DATA), PIECE_BYTES)]
ATTACHED = b"attached"
SECOND = b"the second\n" * 10

Harm = Callable[[ProjectFiles, bytes], None]


@pytest.fixture
def behind(service: LiveService) -> ProjectFiles:
    return ProjectFiles(BehindTheStore(service.settings), f"p-{secrets.token_hex(6)}")


@pytest.fixture
def client(service: LiveService, behind: ProjectFiles) -> Iterator[httpx.Client]:
    with service.client(service.new_key(behind.project)) as client:
        yield client


def damage(behind: ProjectFiles, data: bytes) -> None:
    """Flip a bit in the middle of a file; it stays as long as it was."""
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    behind.write(data, flipped)


remove = ProjectFiles.remove


@pytest.mark.parametrize("size", [PIECE_BYTES, len(DATA)], ids=["same pieces", "all at once"])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("harm", [damage, remove, ProjectFiles.quarantine])
def test_upload_goes_on_where_what_came_was_damaged(
    client: httpx.Client, behind: ProjectFiles, harm: Harm, number: int, size: int
) -> None:
    path = begin(client, len(DATA))
    for start, piece in zip((0, PIECE_BYTES), PIECES, strict=False):
        assert send(client, path, start, piece).status_code == 204
    harm(behind, PIECES[number])
    back = number * PIECE_BYTES
    last = send(client, path, 2 * PIECE_BYTES, PIECES[2])
    assert (last.status_code, last.headers["upload-offset"]) == (204, str(back))
    assert "upload-resource" not in last.headers
    assert offset_of(client, path) == back
    assert client.get("/api/resources").json()["items"] == []
    for start in range(back, len(DATA), size):
        last = send(client, path, start, DATA[start : start + size])
        assert last.status_code == 204
    assert last.headers["upload-offset"] == str(len(DATA))
    assert content(client, last.headers["upload-resource"].rpartition("/")[2]) == DATA


def cut(behind: ProjectFiles, data: bytes) -> None:
    """Leave half of a file."""
    behind.write(data, data[: len(data) // 2])


@pytest.mark.parametrize(("harm", "code"), [(remove, "blob-missing"), (cut, "store-unavailable")])
def test_rendering_is_refused_whole_where_a_later_image_is_damaged(
    client: httpx.Client, behind: ProjectFiles, harm: Harm, code: str
) -> None:
    images = [media.png(64 + number, 48, noise=True) for number in range(2)]
    blocks = [image_block(data) for data in images]
    call_tool(client, "c", {"content": blocks}, session_id="s")
    path = "/api/sessions/s/render?target=anthropic"
    sound = client.get(path)
    assert sound.status_code == 200
    harm(behind, images[1])
    for headers in ({}, {"If-None-Match": sound.headers["etag"]}):
        refused = client.get(path, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (503, code)


def test_page_whose_rendering_fails_is_not_counted_as_read(
    client: httpx.Client, behind: ProjectFiles
) -> None:
    image = media.png(noise=True)
    put(client, modality="image", content=data_uri(image, "image/png"))
    remove(behind, image)
    assert outcome(client.get("/api/pages/p/render", params={"level": 0})) == (503, "blob-missing")
    assert read(client, "p")["access_count"] == 0


@pytest.mark.parametrize(("harm", "code"), [(remove, "blob-missing"), (cut, "store-unavailable")])
def test_references_are_told_although_the_bytes_behind_them_are_lost(
    client: httpx.Client, behind: ProjectFiles, harm: Harm, code: str
) -> None:
    # Nobody has looked at an upload before it is shown.
    data = media.png(80, 48, noise=True)
    ask(client, rich(upload(client, data, filename="shot.png")["uri"]))
    harm(behind, data)
    path = "/api/sessions/s/render?target=anthropic"
    answer = client.get(path, params={"target": "anthropic", "media": "reference"})
    assert (answer.status_code, answer.json()["loss"]) == (200, [])
    refused = client.get(path)
    assert (refused.status_code, refused.json()["code"]) == (503, code)


@pytest.mark.parametrize("harm", [damage, remove])
def test_bundle_with_a_damaged_file_breaks_off(
    client: httpx.Client, behind: ProjectFiles, harm: Harm
) -> None:
    make_small_session(client)
    harm(behind, ATTACHED)
    with pytest.raises(httpx.RemoteProtocolError):
        client.get(f"/api/sessions/{SESSION}/bundle")
    assert client.get(f"/api/sessions/{SESSION}").status_code == 200


@pytest.fixture
def references(client: httpx.Client) -> list[str]:
    """Two texts that session `s` refers to; of the second one the bytes are not there."""
    uris = [upload(client, data, filename="a.txt")["uri"] for data in (ATTACHED, SECOND)]
    for uri in uris:
        assert append(client, session_id="s", content=f"@{uri}").status_code == 201
    return [f"@{uri}" for uri in uris]


@pytest.mark.parametrize("form", ["data-uri", "base64", "text"])
def test_lost_file_is_told_before_anything_of_the_answer_is_sent(
    client: httpx.Client, behind: ProjectFiles, references: list[str], form: str
) -> None:
    body = {"arguments": references, "sessionId": "s", "as": form}
    assert client.post("/api/resolve", json=body).status_code == 200
    remove(behind, SECOND)
    assert outcome(client.post("/api/resolve", json=body)) == (503, "blob-missing")
    links = client.post("/api/resolve", json={**body, "as": "signed-url"})
    assert links.json()["unresolved"] == []


@pytest.mark.parametrize("query", ["lines=1", "grep=second", "pointer="])
def test_lost_text_is_told(
    client: httpx.Client, behind: ProjectFiles, references: list[str], query: str
) -> None:
    remove(behind, SECOND)
    answer = client.get(f"/api/resources/{references[1][1:]}/text?{query}")
    assert outcome(answer) == (503, "blob-missing")


@pytest.mark.parametrize("query", ["lines=1", "grep=second"])
@pytest.mark.parametrize("accepted", ["application/json", "text/plain"])
def test_what_the_caller_has_is_known_without_reading_the_text(
    client: httpx.Client,
    behind: ProjectFiles,
    references: list[str],
    query: str,
    accepted: str,
) -> None:
    path = f"/api/resources/{references[1][1:]}/text?{query}"
    etag = client.get(path, headers={"Accept": accepted}).headers["etag"]
    remove(behind, SECOND)
    known = client.get(path, headers={"Accept": accepted, "If-None-Match": etag})
    assert (known.status_code, known.headers["etag"], known.content) == (304, etag, b"")
    changed = client.get(path, headers={"Accept": accepted, "If-Match": '"x"'})
    assert outcome(changed) == (412, "precondition-failed")

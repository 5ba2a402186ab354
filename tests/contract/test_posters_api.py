"""The poster of a video: made once by a process of its own, where the package for it is there."""

import io
from pathlib import Path

import httpx
import pytest
from PIL import Image

from tests.contract.session_requests import upload
from tests.kit import media
from tests.kit.process import workspace

pytestmark = pytest.mark.engines("embedded")

_PLAYLIST = b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXTINF:1,\nhttp://127.0.0.1:1/x.ts\n"


def poster(client: httpx.Client, uri: str) -> httpx.Response:
    return client.get(f"/api/resources/{uri}/poster")


@pytest.mark.parametrize("video", [media.mp4(), media.webm()], ids=["mp4", "webm"])
def test_poster_is_the_first_picture_made_once_and_gone_with_its_video(
    client: httpx.Client, video: bytes
) -> None:
    uri = upload(client, video, filename="click.mp4")["uri"]
    first, again = poster(client, uri), poster(client, uri)
    assert (first.status_code, first.headers["content-type"]) == (200, "image/jpeg")
    assert first.content == again.content
    assert first.headers["etag"] == again.headers["etag"]
    with Image.open(io.BytesIO(first.content)) as image:
        assert (image.format, max(image.size) <= 1_280) == ("JPEG", True)
    known = client.get(
        f"/api/resources/{uri}/poster", headers={"If-None-Match": first.headers["etag"]}
    )
    assert known.status_code == 304
    assert client.delete(f"/api/resources/{uri}").is_success
    assert poster(client, uri).status_code == 404


def test_poster_is_made_by_no_code_of_the_folder_that_the_service_is_started_in(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace(tmp_path))
    uri = upload(client, media.mp4(), filename="click.mp4")["uri"]
    assert poster(client, uri).status_code == 200
    assert not Path("ran").exists()


@pytest.mark.promise(
    "security.md#decoders",
    "A video is decoded by a process of its own, which opens no other file and no address",
    kept_by="app/services/images/poster_process.py",
    tried="5 files, a playlist among them: 404, twice",
)
@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        (media.png(), "image/png"),
        (media.mp4()[:600], "video/mp4"),
        (b"\0\0\0\x20ftypisom" + b"\xff" * 4_000, "video/mp4"),
        (_PLAYLIST, "video/mp4"),
        (b"\x1a\x45\xdf\xa3" + b"\0" * 4_000, "video/webm"),
    ],
)
def test_what_has_no_picture_has_no_poster_and_says_why(
    client: httpx.Client, content: bytes, mime_type: str
) -> None:
    stored = client.post("/api/resources", content=content, headers={"Content-Type": mime_type})
    refused = [poster(client, stored.json()["uri"]) for _ in range(2)]
    assert [answer.status_code for answer in refused] == [404, 404]
    assert "There is no poster" in refused[0].json()["detail"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3_840, 2_160), (2_160, 3_840)])
def test_largest_video_that_has_a_poster_has_one(
    client: httpx.Client, size: tuple[int, int]
) -> None:
    uri = upload(client, media.mp4(0.1, size=size), filename="large.mp4")["uri"]
    made = poster(client, uri)
    assert made.status_code == 200, made.text
    with Image.open(io.BytesIO(made.content)) as image:
        assert sorted(image.size) == [720, 1_280]


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#decoders",
    "A video of more pixels than 3840x2160 is not decoded, and has no poster",
    kept_by="app/services/images/poster_process.py",
    tried="3840x2162, asked for twice",
)
def test_larger_video_has_no_poster_and_says_why(client: httpx.Client) -> None:
    uri = upload(client, media.mp4(0.1, size=(3_840, 2_162)), filename="larger.mp4")["uri"]
    refused = [poster(client, uri) for _ in range(2)]
    assert [answer.status_code for answer in refused] == [404, 404]
    detail = "There is no poster of this video: it has more pixels than 3840x2160. Its bytes are "
    assert [item.json()["detail"] for item in refused] == [f"{detail}at `/content`."] * 2


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#decoders",
    "A video that could not be decoded for want of time or memory is tried again",
    kept_by="app/services/images/posters.py",
    tried="503 for each, then the poster",
)
@pytest.mark.parametrize(("name", "bound"), [("_MAX_SECONDS", 0.0), ("_FRAME_BYTES", 1)])
def test_poster_that_could_not_be_made_in_bounds_is_tried_again(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, name: str, bound: float
) -> None:
    uri = upload(client, media.mp4(0.1, size=(1_920, 1_080)), filename="click.mp4")["uri"]
    with monkeypatch.context() as tight:
        tight.setattr(f"app.services.images.posters.{name}", bound)
        refused = poster(client, uri)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "could not be made now" in refused.json()["detail"]
    assert poster(client, uri).status_code == 200


def test_poster_that_is_optional_is_no_error_where_there_is_none(client: httpx.Client) -> None:
    asked = {"optional": "true"}
    none, one = (
        upload(client, content, filename="a.mp4")["uri"] for content in (media.png(), media.mp4())
    )
    answers = [
        client.get(f"/api/resources/{uri}/poster", params=asked) for uri in (none, one, "0" * 32)
    ]
    assert [answer.status_code for answer in answers] == [204, 200, 404]
    assert answers[0].content == b""


def test_resource_that_is_not_there_has_no_poster(client: httpx.Client) -> None:
    assert poster(client, "0" * 32).status_code == 404

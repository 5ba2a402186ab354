"""The poster of a video: made once by a process of its own, where the package for it is there."""

import io
from pathlib import Path

import httpx
import pytest
from PIL import Image

from tests.contract.session_requests import upload
from tests.kit import media
from tests.kit.process import workspace

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
    assert [each.status_code for each in refused] == [404, 404]
    assert "There is no poster" in refused[0].json()["detail"]


def test_resource_that_is_not_there_has_no_poster(client: httpx.Client) -> None:
    assert poster(client, "0" * 32).status_code == 404

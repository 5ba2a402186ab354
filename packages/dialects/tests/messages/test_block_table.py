"""A block of a provider needs one entry in the table to be read everywhere."""

import pytest

from packages.dialects.tests.results import samples
from packages.dialects.tests.results.samples import NOISE, Result, medium, result_of
from pagefault_dialects.media import block_table
from pagefault_dialects.media.block_table import SHAPES, BlockShape, BlockTable, paths
from pagefault_dialects.messages.message_content import ContentReader
from pagefault_dialects.messages.message_media import find_media
from pagefault_dialects.model.conversation import InlineBytes, Medium
from tests.kit.media import b64

ACME = BlockShape(
    "acme", "acme_clip", "video", paths("clip.raw"), type_name="clipType", file_name="clipName"
)
BARE = BlockShape("acme", None, "image", paths("acmePicture.raw"))
LONG = NOISE * (2_000 // len(NOISE) + 1)
CLIP = {
    "type": "acme_clip",
    "clip": {"raw": b64(LONG), "clipType": "video/x-acme", "clipName": "a.clip"},
}
PICTURE = {"acmePicture": {"raw": b64(LONG)}}


@pytest.fixture
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_table, "BLOCK_TABLE", BlockTable((*SHAPES, ACME, BARE)))


@pytest.mark.usefixtures("_known")
def test_new_shape_is_read_in_tool_results() -> None:
    clip = samples.Medium(LONG, "video/x-acme", "video", "a.clip")
    picture = samples.Medium(LONG, None, "image")
    assert result_of([CLIP, PICTURE]) == Result((medium(0), medium(1)), (clip, picture))


@pytest.mark.usefixtures("_known")
def test_new_shape_is_moved_out_of_messages() -> None:
    found = find_media({"role": "user", "content": [CLIP, PICTURE]})
    assert [(finding.pointer, finding.uri and finding.uri.mime_type) for finding in found] == [
        ("/content/0/clip/raw", "video/x-acme"),
        ("/content/1/acmePicture/raw", ""),
    ]


@pytest.mark.usefixtures("_known")
def test_new_shape_is_rendered_for_every_model() -> None:
    (item,) = ContentReader({}, "assistant").read([CLIP], "/content")
    size = len(LONG)
    assert item == Medium("/content", InlineBytes(LONG), "video", "video/x-acme", "a.clip", size)


def test_without_an_entry_it_is_data() -> None:
    assert find_media({"role": "user", "content": [CLIP, PICTURE]}) == []

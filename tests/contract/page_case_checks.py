"""Checks of the answers of the service against the expectations of the cases of memory pages.

A check is named by what it finds the page to be.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping

from tests.contract.page_cases import Case, attached

LEVELS = (0, 1, 2, 3)
LONGEST_WORD_IN_A_LINE = 64


def has_its_data_uri_attached(case: Case) -> None:
    case.store()
    text = f"Page {case.page['page_id']} (image, FULL):\n  [image attached below]"
    assert case.read("blocks")["content"] == attached(text, case.page["content"])


def has_its_bytes_attached(case: Case) -> None:
    case.store()
    head, _, payload = case.fault()[1]["image_url"]["url"].partition(",")
    sent = case.page["content"].partition(",")[2]
    assert (head, base64.b64decode(payload, validate=True)) == (
        "data:image/png;base64",
        base64.b64decode(sent),
    )


def has_its_url_attached(case: Case) -> None:
    case.store()
    assert len(case.page["content"]) > 2_000
    text = f"Page {case.page['page_id']} (image, FULL):\n  [image attached below]"
    assert case.fault(max_chars=10) == attached(text, case.page["content"])


def says_that_a_reduced_copy_may_exist(case: Case) -> None:
    case.store()
    text, image = case.read("blocks")["content"]
    assert text["text"].startswith("Page img_017 (image, REDUCED):\n")
    assert "a reduced copy may exist" in text["text"]
    assert image == attached("", case.page["content"])[1]


def shows_the_caption_alone(case: Case) -> None:
    case.store()
    assert case.read("blocks")["content"] == (
        "Page img_018 (image, ABSTRACT \u2014 caption only):\n"
        '  "Sunset"\n'
        "\n"
        "  Note: This is a compressed summary. "
        'Use page_fault("img_018", target_level=0) for full content.'
    )


def cuts_the_caption_and_not_the_url(case: Case) -> None:
    case.store(caption="A red sun over a pond")
    whole = case.read("blocks", max_chars=5)
    assert whole["content"][1] == attached("", case.page["content"])[1]
    assert (whole["truncated"], whole["next_offset"]) == (False, None)
    cut = case.read("blocks", level=2, max_chars=5)
    assert (cut["truncated"], cut["total_chars"], cut["next_offset"]) == (True, 21, 5)
    assert (
        '  "A red"\n  [truncated: characters 0 to 5 of 21; go on with offset=5]' in cut["content"]
    )


def has_all_its_text(case: Case) -> None:
    case.store()
    assert case.read("blocks") == {
        "content": f"Page msg_004 (text, FULL):\n{case.page['content']}",
        "level": 0,
        "requested_level": 0,
        "truncated": False,
        "total_chars": 54_000,
        "next_offset": None,
    }


def is_refused_for_its_content(case: Case) -> None:
    refused = case.client.put(case.path, json=case.page)
    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/content"]
    assert case.client.get(case.path).status_code == 404


def shows_transcript_and_duration(case: Case) -> None:
    case.store()
    content = case.read("blocks")["content"]
    assert case.page["transcript"] in content
    assert "5:42 (342.0 s)" in content


def is_audio_content(case: Case) -> None:
    case.store()
    assert case.read("content") == {
        "type": "audio",
        "transcript": case.page["transcript"],
        "timestamps": None,
        "duration_seconds": 342.0,
    }


def links_its_recording(case: Case) -> None:
    case.store()
    content = case.read("blocks")["content"]
    assert "[audio, 0.0 s, no transcript available]" in content
    assert case.page["content"].partition(",")[2] not in content
    link = re.search(r"Resource: @blob:([0-9a-f]{32})", content)
    assert link
    sent = base64.b64decode(case.page["content"].partition(",")[2])
    assert case.client.get(f"/api/resources/{link.group(1)}/content").content == sent


def has_a_duration_of_zero(case: Case) -> None:
    case.store()
    assert case.read("content") == {
        "type": "audio",
        "transcript": "silence",
        "timestamps": None,
        "duration_seconds": 0.0,
    }


def says_that_there_is_no_transcript(case: Case) -> None:
    case.store()
    assert case.read("blocks")["content"] == (
        "Page aud_006 (audio, FULL):\n  [audio, no transcript available]"
    )


def has_its_text_for_a_transcript(case: Case) -> None:
    case.store()
    assert case.read("content") == {
        "type": "video",
        "scenes": None,
        "transcript": case.page["content"],
        "duration_seconds": None,
        "url": None,
    }


def has_parsed_data(case: Case) -> None:
    case.store()
    assert case.read("content") == {
        "type": "structured",
        "data": {"temperature": 22},
        "schema_name": None,
    }


def is_cut_as_json_text(case: Case) -> None:
    case.store()
    text = json.dumps(case.page["content"], separators=(",", ":"))
    assert case.fault() == f"Page st_006 (structured, FULL):\n  {text}"
    assert case.fault(max_chars=100) == (
        f"Page st_006 (structured, FULL):\n  {text[:100]}\n"
        f"  [truncated: characters 0 to 100 of {len(text)}; go on with offset=100]"
    )


def is_an_empty_object_with_its_schema(case: Case) -> None:
    case.store()
    assert case.read("blocks")["content"] == "Page st_008 (structured, FULL):\n  {}"
    case.patch(schema_name="weather")
    assert case.read("blocks")["content"] == (
        "Page st_008 (structured, FULL):\n  Schema: weather\n  {}"
    )


def is_refused_for_its_id(case: Case) -> None:
    before = case.client.get("/api/pages").content
    refused = case.client.post("/api/pages", json=case.page)
    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/page_id"]
    assert case.client.get("/api/pages").content == before


def is_never_longer(case: Case) -> None:
    case.store()
    assert [case.level(level) for level in LEVELS] == ["Hi"] * 4


def stays_empty(case: Case) -> None:
    case.store()
    assert [case.level(level) for level in LEVELS] == [""] * 4


def is_described_by_its_type_and_name(case: Case) -> None:
    case.store()
    assert case.level(2) == "image/png, sunset.png"


def is_truncated_then_outlined_then_named(case: Case) -> None:
    case.store()
    full, reduced, abstract, reference = (case.level(level) for level in LEVELS)
    assert full == case.page["content"]
    assert reduced["a"] == [*range(10), "[\u2026 40 more items]"]
    assert re.fullmatch(r"x+\[\u2026 \d+ more characters\]", reduced["b"])
    assert abstract == {"a": "array of 50 integers", "b": "string of 200 characters"}
    assert reference == "[artifact] structured:c_011"


def shows_every_field(case: Case) -> None:
    case.store()
    shown = case.details()
    expected = {
        "Page ID": "img_001",
        "Modality": "image",
        "MIME Type": "image/png",
        "Dimensions": "1920x1080",
        "Compression": "FULL",
        "Content": "[caption] Sunset landscape",
        "URL": "https://example.com/sunset.png",
    }
    assert {label: shown[label] for label in expected} == expected
    assert list(shown)[: len(expected)] == list(expected)


def shows_its_level_and_the_others(case: Case) -> None:
    case.store()
    shown = case.details()
    assert (shown["Compression"], shown["Content"], shown["Levels"]) == (
        "ABSTRACT",
        "[caption] Sunset landscape",
        "FULL, ABSTRACT, REFERENCE",
    )


def is_named_after_its_data_uri(case: Case) -> None:
    case.store()
    sent = base64.b64decode(case.page["content"].partition(",")[2])
    assert case.downloaded() == ("img_042.webp", sent)


def is_broken_and_leaves_no_file(case: Case) -> None:
    before = case.resources()
    case.store()
    refused = case.client.get(f"{case.path}/download")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-base64")
    assert "invalid base64" in refused.json()["detail"]
    assert case.resources() == before


def is_a_json_file(case: Case) -> None:
    case.store()
    name, content = case.downloaded()
    assert (name, json.loads(content)) == (f"{case.page['page_id']}.json", case.page["content"])


def is_a_text_file(case: Case) -> None:
    case.store()
    assert case.downloaded() == ("msg_056.txt", case.page["content"].encode())


def is_a_markdown_file(case: Case) -> None:
    case.store()
    assert case.downloaded() == ("msg_057.md", b"# T")


def has_no_content(case: Case) -> None:
    case.store()
    refused = case.client.get(f"{case.path}/download")
    assert (refused.status_code, refused.json()["code"]) == (404, "no-content")


def has_no_base64_in_its_line(case: Case) -> None:
    case.store(session_id="packed")
    manifest = case.client.get("/api/sessions/packed/manifest").json()
    line = "- img_070 (image, artifact, FULL|REDUCED|ABSTRACT|REFERENCE, ~258 tokens)"
    assert [page["line"] for page in manifest["pages"]] == [line]
    words = re.findall(r"[A-Za-z0-9+/=]+", manifest["text"])
    assert max(map(len, words)) < LONGEST_WORD_IN_A_LINE


CHECKS: Mapping[str, Callable[[Case], None]] = {
    "img_data_small_full": has_its_data_uri_attached,
    "img_data_big_full_build_only": has_its_data_uri_attached,
    "img_data_big_via_page_fault": has_its_bytes_attached,
    "img_long_signed_url_via_page_fault": has_its_url_attached,
    "img_reduced_url": says_that_a_reduced_copy_may_exist,
    "img_abstract_but_url_content": shows_the_caption_alone,
    "img_truncated_flag": cuts_the_caption_and_not_the_url,
    "text_long_build": has_all_its_text,
    "text_bytes_content": is_refused_for_its_content,
    "audio_transcript_duration": shows_transcript_and_duration,
    "audio_transcript_format": is_audio_content,
    "audio_data_uri_blocks": links_its_recording,
    "audio_zero_duration": has_a_duration_of_zero,
    "audio_none": says_that_there_is_no_transcript,
    "video_content_text_only": has_its_text_for_a_transcript,
    "structured_json_string": has_parsed_data,
    "structured_big_dict_fault": is_cut_as_json_text,
    "structured_empty_dict": is_an_empty_object_with_its_schema,
    "page_id_injection_note": is_refused_for_its_id,
    "compress_text_tiny": is_never_longer,
    "compress_text_empty": stays_empty,
    "compress_image_no_caption": is_described_by_its_type_and_name,
    "compress_structured": is_truncated_then_outlined_then_named,
    "detail_image_url": shows_every_field,
    "detail_abstract_level": shows_its_level_and_the_others,
    "dl_data_png_no_page_mime": is_named_after_its_data_uri,
    "dl_data_broken": is_broken_and_leaves_no_file,
    "dl_structured_dict": is_a_json_file,
    "dl_structured_list": is_a_json_file,
    "dl_text": is_a_text_file,
    "dl_text_markdown_mime": is_a_markdown_file,
    "dl_none": has_no_content,
    "pack_image": has_no_base64_in_its_line,
}

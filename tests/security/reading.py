"""Everything that reads text of a caller's, as functions of a text; what they make of it is left.

Each runs in one thread. How long one takes, and how long it keeps the others waiting, is measured
in processor time: what else a machine does meanwhile does not count.
"""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from app.errors import PreconditionFailedError
from app.http.conditions import evaluate_conditions
from app.http.content_headers import (
    format_content_disposition,
    format_content_type,
    may_be_inline,
    parse_repr_digest,
    wants_repr_digest,
)
from app.http.content_response import parse_range
from app.http.tus import parse_checksum, parse_metadata
from app.services.normalization import normalize_tool_result
from app.words.search_terms import SearchableText, parse_search, search_words
from app.words.snippets import Passages
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.pointer_scanner import ScanLimits, scan_pointer
from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.json.values import (
    json_text,
    parse_embedded_json,
    parse_json,
    parse_repaired_json,
)
from pagefault_dialects.media.base64_text import decode_base64, decode_percent_encoded_base64
from pagefault_dialects.media.data_uris import recognize_base64, split_data_uri
from pagefault_dialects.media.embedded_data_uris import find_movable_media
from pagefault_dialects.media.file_names import disposition_filename, safe_file_name
from pagefault_dialects.media.soundness import check_source_soundness
from pagefault_dialects.media.types import canonical_mime_type, is_textual, mime_type_for_filename
from pagefault_dialects.messages.message_calls import read_call
from pagefault_dialects.messages.message_content import ContentReader
from pagefault_dialects.messages.message_media import find_media
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.page import Body, Modality, Page, PageFields
from pagefault_dialects.pages.levels import derive_levels
from pagefault_dialects.pages.line_formats import (
    escape_line_breaks,
    quote,
    quote_short,
    without_base64,
)
from pagefault_dialects.pages.page_blocks import page_blocks
from pagefault_dialects.pages.page_text import list_page_texts
from pagefault_dialects.pages.sizes import estimate_page_tokens
from pagefault_dialects.pages.typed_content import write_page_json
from pagefault_dialects.targets.base64_leaves import json_pieces
from pagefault_dialects.text_windows import parse_line_range, without_lone_surrogates
from pagefault_dialects.texts.cuts import (
    keep_head_and_tail,
    make_preview,
    needs_preview,
    take_excerpt,
    take_sentences,
)
from pagefault_dialects.texts.excerpts import LineCollector, MatchCollector
from pagefault_dialects.texts.json_strings import TextWriter
from pagefault_dialects.texts.line_blocks import LineBlockSplitter, LineIndexer

Reader = Callable[[str], object]

_HEADS = {
    "application/pdf": b"%PDF-1.4\nxref\n",
    "audio/flac": b"fLaC",
    "audio/ogg": b"OggS\0",
    "audio/wav": b"RIFF\xff\xff\xff\xffWAVE",
    "image/gif": b"GIF89a" + bytes(7) + b"!\xfe",
    "image/jpeg": b"\xff\xd8\xff\xe0\0\2",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/webp": b"RIFF\0\0\0\0WEBP",
    "video/mp4": b"\0\0\0\x10ftypisom\0\0\0\0",
    "video/webm": b"\x1a\x45\xdf\xa3\x84webm",
}
_DEEPEST = 1_024
_MAX_VALUES = 250_000
_CHUNK = 256 * 1024
_BEAT_SECONDS = 0.001


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _parse(text: str) -> None:
    parse_json(_bytes(text), max_depth=_DEEPEST, max_nodes=_MAX_VALUES)


def _parse_spelled(text: str) -> None:
    value = parse_repaired_json(
        _bytes(text), max_depth=_DEEPEST, max_nodes=_MAX_VALUES, keeps_spelling=True
    )
    json_text(value)


def _parse_embedded(text: str) -> None:
    json_text(parse_embedded_json(text, max_depth=400, max_nodes=_MAX_VALUES))


def _scan(text: str) -> None:
    limits = ScanLimits(_DEEPEST, _MAX_VALUES, built_bytes=0, members=200, piece_chars=300)
    for around in (text, f"[{text}]", f'{{"a":[{text}],"a":[1]}}'):
        with suppress(PagefaultError):
            scan_pointer(without_lone_surrogates(around), ("a", "0"), limits)


def _normalize_blocks(text: str) -> None:
    image = {"type": "image", "data": text, "mimeType": "image/png"}
    resource = {"type": "resource", "resource": {"uri": text, "text": text, "mimeType": text}}
    normalize_tool_result({"content": [{"type": "text", "text": text}, image, resource]})


def _normalize_record(text: str) -> None:
    normalize_tool_result({"b": {text: [text]}, "data": text, "filename": text, "mimeType": text})


def _normalize_embedded(text: str) -> None:
    normalize_tool_result({"x": json.dumps([text, "data:image/png;base64,AAAA"])})


def _normalize_envelopes(text: str) -> None:
    lines = [text[at : at + 76] + "\n" for at in range(0, len(text), 76)]
    words = text.split()
    result: object = {
        "content": [
            {"type": "image", "data": lines, "mime_type": "image/png", "meta": {text: None}},
            {"type": "resource", "resource": {"uri": text, "blob": text, "mime_type": None}},
        ],
        "structured_content": {"result": [text, lines, {"data": {"image/png": lines}}]},
        "data": [text, words],
        "is_error": True,
        "meta": dict.fromkeys(words),
    }
    message = {"type": "tool", "tool_call_id": text, "content": lines, "artifact": {text: words}}
    for inner in (result, message, {"toolResult": {"toolUseId": text, "content": words}}):
        answer: object = inner
        for _ in range(len(text) // 1_000):
            answer = {"jsonrpc": "2.0", "id": text, "result": answer}
        normalize_tool_result(answer)
    normalize_tool_result({"jsonrpc": "2.0", "error": {"message": text, "data": words}})


def _normalize_lines(text: str) -> None:
    normalize_tool_result([text[at : at + 76] + "\n" for at in range(0, len(text), 76)])


def _decode(text: str) -> None:
    decode_base64(text)
    decode_base64("AAAA\n" + text)
    decode_percent_encoded_base64(text)


def _read_message(text: str) -> None:
    content = [{"type": "text", "text": text}, {"data": text, "media_type": "image/png"}]
    find_media({"role": "user", "content": content})


def _move_media(text: str) -> None:
    find_movable_media([text, f"data:{text}", f"data:image/png;base64,{text}"])
    split_data_uri(text)
    recognize_base64(text)


def _read_call(text: str) -> None:
    read_call({"type": "tool_call", "arguments": text, "name": text, "id": text}, 1, 0)


def _show_content(text: str) -> None:
    reading = ContentReader({}, "assistant", frozenset({"0" * 32}))
    list(reading.read([{"type": "text", "text": text}, {"x": text}], ""))
    list(reading.read_unsearched(text, ""))


def _write_target(text: str) -> None:
    json_pieces([{"role": "user", "content": text}, {text: [text]}])


def _page(modality: Modality, body: Body, **said: object) -> None:
    fields = PageFields.model_validate({"modality": modality, "metadata": {}, **said})
    levels = derive_levels("p", fields, body, reduced_image=None, supplied={}, text=None)
    page = Page("p", fields, body, levels)
    estimate_page_tokens(page)
    list_page_texts(fields, body.kind, body.value)
    for level in page.existing_levels:
        page_blocks(page, level, image_url=None)
        write_page_json(page, level, max_chars=1_000, offset=500)


def _text_page(text: str) -> None:
    _page("text", Body("text", text), hint=text)


def _structured_page(text: str) -> None:
    _page("structured", Body("json", text))
    _page("structured", Body("json", [text, {text: text}]))


def _video_page(text: str) -> None:
    _page("video", Body("text", text), scenes=[{"summary": text}])


def _lines(text: str) -> None:
    quote(text)
    escape_line_breaks(text)
    quote_short(text, 200)
    without_base64(text)


def _cut(text: str) -> None:
    take_excerpt(text, max_chars=500, offset=len(text) // 2)
    take_sentences(text, 800)
    keep_head_and_tail(text, 4_000)
    if needs_preview(text):
        make_preview(text, "blob:x")


def _search(text: str) -> None:
    search_words(SearchableText((text,), (text,)))


def _show_passage(text: str) -> None:
    Passages(parse_search(f'"{text[:100]}" nothing wor*')).find([text])


def _blocks(text: str, collector: LineCollector | MatchCollector) -> None:
    blocks = LineBlockSplitter()
    for start in range(0, len(text), _CHUNK):
        for block in blocks.feed(text[start : start + _CHUNK]):
            collector.feed(block)
    for block in blocks.finish():
        collector.feed(block)


def _read_lines(text: str) -> None:
    _blocks(text, LineCollector(1, 1 << 60))
    indexer = LineIndexer()
    indexer.feed(_bytes(text))
    indexer.finish()


def _grep(text: str) -> None:
    for words, ignore_case in ((text[:200] or "x", False), (text[:100] + "q", True), ("a", True)):
        _blocks(
            text,
            MatchCollector(words, ignore_case=ignore_case, context=20, first=1, last=1 << 60),
        )


def _write_text(text: str) -> None:
    writer = TextWriter()
    list(writer.feed(_bytes(text)))
    writer.finish()


def _read_range(text: str) -> None:
    parse_range(text, 1_000)


def _read_conditions(text: str) -> None:
    for name in ("if-match", "if-none-match", "if-modified-since"):
        with suppress(PreconditionFailedError):
            evaluate_conditions(
                {name: text}, method="GET", etag='"x"', last_modified=datetime.now(UTC)
            )


def _read_digests(text: str) -> None:
    wants_repr_digest(text)
    parse_repr_digest(text)


def _read_names(text: str) -> None:
    safe_file_name(text)
    disposition_filename(text)
    format_content_disposition("inline", text)


def _read_types(text: str) -> None:
    format_content_type(text)
    may_be_inline(text)
    canonical_mime_type(text)
    is_textual(text)
    mime_type_for_filename(text)


def _read_places(text: str) -> None:
    parse_json_pointer(text)
    parse_line_range(text)


def _look_at_files(text: str) -> None:
    for mime_type, head in _HEADS.items():
        check_source_soundness(InMemoryMedia(head + _bytes(text)), mime_type)


READERS: dict[str, Reader] = {
    "files that are judged": _look_at_files,
    "a body": _parse,
    "a body to be written again": _parse_spelled,
    "JSON in a text": _parse_embedded,
    "a place in JSON": _scan,
    "a result": normalize_tool_result,
    "blocks of a result": _normalize_blocks,
    "a record": _normalize_record,
    "a record with JSON in it": _normalize_embedded,
    "envelopes of a result": _normalize_envelopes,
    "lines of a result": _normalize_lines,
    "base64": _decode,
    "media of a message": _read_message,
    "media of a page": _move_media,
    "arguments of a call": _read_call,
    "content of a message": _show_content,
    "the JSON of a target": _write_target,
    "a page of text": _text_page,
    "a structured page": _structured_page,
    "a video's page": _video_page,
    "lines for a model": _lines,
    "cuts": _cut,
    "words of a search": _search,
    "words of a query": parse_search,
    "a passage": _show_passage,
    "lines of a text": _read_lines,
    "grep": _grep,
    "a text in JSON": _write_text,
    "Range": _read_range,
    "conditions": _read_conditions,
    "digests": _read_digests,
    "names of files": _read_names,
    "MIME types": _read_types,
    "pointers": _read_places,
    "metadata of an upload": parse_metadata,
    "a checksum": parse_checksum,
}


def processor_ms(reader: Reader, text: str) -> float:
    """Return the processor time of a reader for a text, which it may refuse."""
    began = time.thread_time()
    _read(reader, text)
    return (time.thread_time() - began) * 1e3


def held_ms(reader: Reader, text: str) -> float:
    """The longest that the reader worked while another thread that wanted to did not get to."""
    ended = threading.Event()
    whole: list[float] = []

    def work() -> None:
        _read(reader, text)
        whole.append(time.thread_time())
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    before = longest = 0.0
    while not ended.is_set():
        time.sleep(_BEAT_SECONDS)
        try:
            now = time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
        except OSError:
            break
        longest, before = max(longest, now - before), now
    thread.join()
    return max(longest, whole[0] - before) * 1e3


def _read(reader: Reader, text: str) -> None:
    try:
        reader(text)
    except (PagefaultError, ValueError, RecursionError):
        return

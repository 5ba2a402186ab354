"""Damage in files: real, truncated and hostile ones."""

import io
import random
import struct
import zlib
from collections.abc import Iterator, Mapping

import av
import pytest
from PIL import Image, ImageSequence

from pagefault_dialects.media.soundness import check_source_soundness, without_damaged_chunks
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import Damage, MediaHints
from tests.kit import media
from tests.kit.images import jpeg_in_three_scans, picture, saved, see_through

RGB, GREY, CMYK = picture(), picture().convert("L"), picture().convert("CMYK")
PALETTE, SEE_THROUGH = picture().quantize(64), see_through()
DEEP = Image.new("I;16", (60, 50), 40_000)
TURNED = [picture().rotate(90), picture().rotate(180)]
FRAMES = {"save_all": True, "append_images": TURNED}
SMALL_SCANS = {"progressive": True, "restart_marker_rows": 1, "quality": 5}
IMAGES = {
    "plain PNG": ("image/png", saved(RGB, "PNG")),
    "stored PNG": ("image/png", saved(RGB, "PNG", compress_level=0)),
    "PNG of a palette": ("image/png", saved(PALETTE, "PNG", optimize=True)),
    "PNG of 16 bits": ("image/png", saved(DEEP, "PNG")),
    "transparent PNG": ("image/png", saved(SEE_THROUGH, "PNG", dpi=(72, 72))),
    "animated PNG": ("image/png", saved(RGB, "PNG", **FRAMES)),
    "JPEG": ("image/jpeg", saved(RGB, "JPEG")),
    "progressive JPEG": ("image/jpeg", saved(RGB, "JPEG", progressive=True)),
    "JPEG with restart markers": ("image/jpeg", saved(RGB, "JPEG", **SMALL_SCANS)),
    "grey JPEG": ("image/jpeg", saved(GREY, "JPEG", comment=b"\xff\xd9")),
    "CMYK JPEG": ("image/jpeg", saved(CMYK, "JPEG")),
    "JPEG in three scans": ("image/jpeg", jpeg_in_three_scans(400)),
    "JPEG on its side": ("image/jpeg", media.jpeg_on_its_side()),
    "GIF": ("image/gif", saved(PALETTE, "GIF", comment=b"x" * 700)),
    "animated GIF": ("image/gif", saved(RGB, "GIF", loop=0, **FRAMES)),
    "WebP": ("image/webp", saved(RGB, "WEBP")),
    "transparent WebP": ("image/webp", saved(SEE_THROUGH, "WEBP", lossless=True)),
    "animated WebP": ("image/webp", saved(RGB, "WEBP", **FRAMES)),
    "AVIF": ("image/avif", saved(RGB, "AVIF")),
}
RECORDINGS = {
    "MP4": ("video/mp4", media.mp4()),
    "MP4 with its header first": ("video/mp4", media.mp4(header_first=True)),
    "M4A": ("audio/mp4", media.m4a()),
    "WAV": ("audio/wav", media.wav()),
    "MP3": ("audio/mpeg", media.mp3()),
    "FLAC": ("audio/flac", media.flac()),
    "Ogg": ("audio/ogg", media.ogg()),
    "WebM": ("video/webm", media.webm()),
    "WebM of a pipe": ("video/webm", media.webm(open_sizes=True)),
}
# Files of which players need only a valid head, or that have few other marks. A WebM of
# open sizes is whole at the end of each of its elements, which players may need the next of.
WHATEVER_IS_LEFT = {"FLAC", "WebM of a pipe"}
WITHOUT_A_NUMBER = media.mp3(says_size=False)
PDF = media.pdf()
PNG_START, GIF_START = media.png()[:33], b"GIF89a" + bytes(7)
FILE_TYPE = b"\0\0\0\x10ftypisom\0\0\0\0"
EBML, SEGMENT = media.webm()[:4], bytes.fromhex("18538067")
CUTS = (0.05, 0.5, 0.9, 0.99)


def check(data: bytes, mime_type: str) -> Damage | None:
    return check_source_soundness(InMemoryMedia(data), mime_type)


def damage_by_name(files: Mapping[str, tuple[str, bytes]]) -> dict[str, Damage]:
    """Return the damage of each damaged file, by name."""
    found = {name: check(data, mime_type) for name, (mime_type, data) in files.items()}
    return {name: damage for name, damage in found.items() if damage is not None}


def cut_places(size: int) -> list[int]:
    chosen = random.Random(size)  # noqa: S311 - the same places in every run
    drawn = [chosen.randrange(64, size) for _ in range(10)]
    return sorted({*drawn, size - 1, *(int(size * share) for share in CUTS)} - set(range(64)))


def is_decoded(data: bytes) -> bool:
    try:
        for frame in ImageSequence.Iterator(Image.open(io.BytesIO(data))):
            frame.load()
    except Exception:  # noqa: BLE001 - other files raise any exception
        return False
    return True


def is_played(data: bytes) -> bool:
    try:
        with av.open(io.BytesIO(data), "r") as container:
            streams = [*container.streams.video, *container.streams.audio]
            return bool(streams) and any(packet.decode() for packet in container.demux(streams))
    except (av.FFmpegError, ValueError):
        return False


def chunk(kind: bytes, data: bytes = b"", *, checksum: int | None = None) -> bytes:
    right = zlib.crc32(kind + data) if checksum is None else checksum
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", right)


def riff(kind: bytes, *chunks: bytes) -> bytes:
    content = kind + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def with_chunk(png: bytes, added: bytes) -> bytes:
    """Return the PNG with one more chunk behind its header."""
    return png[:33] + added + png[33:]


@pytest.mark.parametrize("name", [*IMAGES, *RECORDINGS, "PDF"])
def test_changed_files_of_any_kind_are_judged_without_an_exception(name: str) -> None:
    """Truncate a file anywhere, and replace, move, repeat and delete its bytes."""
    mime_type, whole = {**IMAGES, **RECORDINGS, "PDF": ("application/pdf", PDF)}[name]
    for data in [*(whole[:end] for end in range(400)), *changed(whole, times=200)]:
        damage = check(data, mime_type)
        assert damage is None or damage.code
        without_damaged_chunks(data)


def changed(data: bytes, *, times: int) -> Iterator[bytes]:
    chosen = random.Random(data)  # noqa: S311 - the same changes in every run
    for _ in range(times):
        made = bytearray(data)
        for _ in range(chosen.randint(1, 4)):
            # Most of the bytes that are read are at the beginning or the end.
            span = chosen.choice([64, 400, len(made)])
            start = chosen.randrange(min(span, len(made)))
            start = chosen.choice([start, len(made) - 1 - start])
            end = start + chosen.choice([1, 2, 4, 8, 200])
            made[start:end] = chosen.choice(
                [b"", b"\xff" * 4, b"\0" * 8, bytes(made[start:end]) * 2, chosen.randbytes(4)]
            )
            made = made or bytearray(b"\0")
        yield bytes(made)


def test_whole_files_are_sound() -> None:
    files = IMAGES | RECORDINGS
    assert damage_by_name(files) == {}


@pytest.mark.parametrize(
    "behind",
    [b"\0" * 4_096, b"junk\r\n", media.mp4(), media.noise_bytes(500)],
    ids=["zeros", "text", "an MP4", "noise"],
)
def test_bytes_behind_the_end_are_ignored(behind: bytes) -> None:
    files = IMAGES | {"WAV": RECORDINGS["WAV"], "PDF": ("application/pdf", PDF)}
    longer = {name: (mime_type, data + behind) for name, (mime_type, data) in files.items()}
    assert damage_by_name(longer) == {}


@pytest.mark.parametrize("name", IMAGES)
def test_image_is_damaged_if_it_is_cut_where_a_decoder_refuses_it(name: str) -> None:
    mime_type, data = IMAGES[name]
    wrong = [
        place
        for place in cut_places(len(data))
        if not is_decoded(data[:place]) and check(data[:place], mime_type) is None
    ]
    assert wrong == []


@pytest.mark.parametrize("name", sorted(RECORDINGS.keys() - WHATEVER_IS_LEFT))
def test_recording_is_damaged_if_it_is_cut_where_a_player_refuses_it(name: str) -> None:
    mime_type, data = RECORDINGS[name]
    wrong = [
        place
        for place in cut_places(len(data))
        if not is_played(data[:place]) and check(data[:place], mime_type) is None
    ]
    assert wrong == []


@pytest.mark.parametrize("share", CUTS)
def test_cut_files_are_damaged(share: float) -> None:
    names = [
        "plain PNG",
        "JPEG",
        "GIF",
        "WebP",
        "WAV",
        "MP3",
        "MP4",
        "M4A",
        "WebM",
        "WebM of a pipe",
    ]
    files = IMAGES | RECORDINGS | {"PDF": ("application/pdf", PDF + b"\n")}
    different = {}
    for name in [*names, "PDF"]:
        mime_type, data = files[name]
        damage = check(data[: int(len(data) * share)], mime_type)
        found = damage and (damage.code, damage.is_repairable, damage.is_certain)
        if found != ("damaged-media", False, True):
            different[name] = damage
    assert different == {}


def test_mp3_without_a_size_is_damaged_if_a_frame_is_not_whole() -> None:
    whole = WITHOUT_A_NUMBER
    assert check(whole, "audio/mpeg") is None
    # A file that was cut between two frames cannot be detected.
    unseen = [end for end in range(64, len(whole)) if check(whole[:end], "audio/mpeg") is None]
    assert len(unseen) < len(whole) / 100
    for behind in (b"TAG" + bytes(125), b"APETAGEX" + bytes(300), bytes(4_096)):
        assert check(whole + behind, "audio/mpeg") is None


def test_webm_without_sizes_is_damaged_if_an_element_is_not_whole() -> None:
    whole = media.webm(open_sizes=True)
    unseen = [end for end in range(64, len(whole)) if check(whole[:end], "video/webm") is None]
    assert len(unseen) < len(whole) / 20


@pytest.mark.parametrize(
    ("data", "mime_type", "detail", "is_certain"),
    [
        (b"fake png data", "image/png", "The bytes are not those of a sound image/png.", True),
        (b"", "image/jpeg", "The bytes are not those of a sound image/jpeg.", True),
        (PDF, "audio/wav", "The bytes are not those of a sound audio/wav.", True),
        (b"GIF89a", "application/pdf", "The bytes are not those of a sound application/pdf.", True),
        (bytes(99), "audio/l16", "The bytes are not those of a sound audio/l16.", False),
        (b"\xff\xfd" + bytes(99), "audio/mpeg", "The bytes are not those of a sound audio/mpeg.",
         False),
        (media.png_claiming(9, 9)[:-12], "image/png",
         "The image/png is damaged: it ends before its IEND chunk.", True),
        (media.png()[:60], "image/png",
         "The image/png is damaged: it ends inside of its IDAT chunk.", True),
        (media.mp4()[:-1], "video/mp4",
         "The video/mp4 is damaged: it ends inside of its moov box.", True),
        (media.mp4(header_first=True)[:-1], "video/mp4",
         "The video/mp4 is damaged: it ends inside of its mdat box.", True),
        (PDF[:-6], "application/pdf", "The application/pdf is damaged: it has no end: no "
         "`startxref` with `%%EOF` behind it.", True),
        (PDF + b"\n6 0 obj\n<< /Length 99", "application/pdf",
         "The application/pdf is damaged: it ends inside of an update.", True),
        (b"%PDF-1.5\nstartxref\n0\n%%EOF\n", "application/pdf",
         "The application/pdf is damaged: its table of objects is not there.", True),
    ],
)  # fmt: skip
def test_damage_has_a_code_and_a_description(
    data: bytes, mime_type: str, detail: str, is_certain: bool
) -> None:
    assert check(data, mime_type) == Damage("damaged-media", detail, is_certain=is_certain)


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (b"\0\1\2", "image/x-icon"),
        (b"a,b", "text/csv"),
        (b"\r\n" + PDF, "application/pdf"),
        (b"junk " * 150 + PDF, "application/pdf"),
        (media.wav()[:40] + b"\xff\xff\xff\xff" + media.wav()[44:99], "audio/wav"),
        (media.wav()[:40] + b"\0\0\0\0" + media.wav()[44:99], "audio/wav"),
        (saved(PALETTE, "GIF")[:-1], "image/gif"),
        (media.jpeg()[:20] + b"\xff\xff\xff\xfe\0\4\xff\xd9" + media.jpeg()[20:], "image/jpeg"),
    ],
)
def test_files_that_decoders_accept_are_sound(data: bytes, mime_type: str) -> None:
    assert check(data, mime_type) is None


@pytest.mark.parametrize(
    ("mime_type", "data", "place"),
    [
        ("image/png", PNG_START[:8] + chunk(b"IDAT"), "it does not begin with an IHDR chunk"),
        ("image/png", PNG_START + chunk(b"IEND"), "it has no IDAT chunk"),
        ("image/png", PNG_START + b"\x80\0\0\0IDAT",
         "there is something else in the place of a chunk"),
        ("image/png", PNG_START + b"\0\0\0\0ID1T",
         "there is something else in the place of a chunk"),
        ("image/gif", GIF_START[:10], "it ends inside of a header"),
        ("image/gif", GIF_START + b"!\xfe\5ab", "it ends inside of a block"),
        ("image/gif", GIF_START + b";", "it has no picture"),
        ("image/jpeg", b"\xff\xd8\xff\xd9", "it has no scan"),
        ("image/jpeg", b"\xff\xd8\xff\xe0\0\1", "one of its segments has no length"),
        ("image/jpeg", b"\xff\xd8\xff\xe0\0\4\0\0", "it ends before its first scan"),
        ("image/jpeg", b"\xff\xd8\xff\xd0\xff", "it ends before its first scan"),
        ("image/jpeg", b"\xff\xd8\xff\xda\0\2\0", "it has no frame header"),
        ("image/jpeg", media.jpeg()[:-2], "it ends before the end of its picture"),
        ("image/webp", IMAGES["WebP"][1][:-1], "it is shorter than it says"),
        ("image/webp", riff(b"WEBP", b"VP8 \1\0\0\0"), "it ends inside of a chunk"),
        ("image/webp", riff(b"WEBP", b"ICCP\0\0\0\0"), "it has no picture"),
        ("image/avif", FILE_TYPE.replace(b"isom", b"avif") + b"\0\0\0\x08mdat",
         "it has no meta box"),
        ("video/mp4", FILE_TYPE + b"\0\0\0\7mdat",
         "there is something else in the place of a box"),
        ("video/mp4", FILE_TYPE + b"\0\0\0\x08mdat", "it has no moov box"),
        ("video/mp4", FILE_TYPE + b"\0\0\0\x08moov", "there is nothing behind its header"),
        ("video/mp4", FILE_TYPE + b"\0\0\0\x09\xa9xyz", "it ends inside of its last box"),
        ("audio/mpeg", b"ID3\4\0\0\0\0\1\0" + bytes(128), "it ends before its first frame"),
        ("audio/mpeg", media.mp3()[:4_096], "it is shorter than it says"),
        ("audio/mpeg", WITHOUT_A_NUMBER[:-1], "it ends inside of a frame"),
        ("audio/wav", riff(b"WAVE", b"fmt \0\0\0\0"), "it has no samples"),
        ("audio/wav", riff(b"WAVE", b"data\1\0\0\0\0"), "it has no samples"),
        ("audio/wav", riff(b"WAVE", b"fmt \0\0\0\0", b"data\3\0\0\0\0"),
         "it ends before the end of its samples"),
        ("audio/aiff", b"FORM\0\0\0\x0cAIFFCOMM\0\0\0\0", "it has no samples"),
        ("audio/aiff", b"FORM\0\0\0\x0dAIFFSSND\0\0\0\3\0",
         "it ends before the end of its samples"),
        ("audio/ogg", media.ogg()[:-1], "it ends inside of a page"),
        ("audio/flac", b"fLaC\x80\0\0\1\0", "it ends before its first frame"),
        ("audio/flac", b"fLaC\0\0\0\0\x80\0", "it ends before its first frame"),
        ("video/webm", EBML + b"\x80\xec\xffwebm", "it has no segment"),
        ("video/webm", EBML + b"\x84webm\xec\x80", "it has no segment"),
        ("video/webm", EBML + b"\x84webm" + SEGMENT + b"\x82\0", "it is shorter than it says"),
        ("video/webm", EBML + b"\x84webm" + SEGMENT + b"\xff\xec\x82\0",
         "it ends inside of an element"),
        ("video/webm", EBML + b"\x84webm" + SEGMENT + b"\xff\xec",
         "it ends inside of an element"),
    ],
)  # fmt: skip
def test_damage_says_what_is_missing(mime_type: str, data: bytes, place: str) -> None:
    detail = f"The {mime_type} is damaged: {place}."
    assert check(data, mime_type) == Damage("damaged-media", detail)


@pytest.mark.parametrize(
    ("mime_type", "data"),
    [
        ("audio/wav", riff(b"WAVE", b"fmt \0\0\0\0", b"data\2\0\0\0\0")),
        ("audio/flac", b"fLaC\x80\0\0\1\0\0"),
        ("image/jpeg", b"\xff\xd8\xff\xc0\0\2\xff\xda\0\2\xff\xd9"),
        ("image/png", PNG_START + chunk(b"IDAT") + chunk(b"IEND")),
        ("video/mp4", FILE_TYPE + b"\0\0\0\x08moov" + b"\0\0\0\x08mdat"),
        ("video/webm", EBML + b"\x84webm" + SEGMENT + b"\x81\0"),
        ("video/webm", EBML + b"\x84webm" + SEGMENT + b"\xff\xec\x81\0"),
    ],
)
def test_file_that_ends_with_its_last_part_is_sound(mime_type: str, data: bytes) -> None:
    assert check(data, mime_type) is None


def test_encrypted_document_is_damaged() -> None:
    encrypted = PDF.replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt 9 0 R")
    expected_detail = "It is encrypted, and models take no encrypted documents."
    assert check(encrypted, "application/pdf") == Damage("encrypted-media", expected_detail)
    spoken_of = PDF.replace(b"/Root 1 0 R", b"/Root 1 0 R /EncryptMetadata true")
    assert check(spoken_of, "application/pdf") is None


@pytest.mark.parametrize("kind", [b"IHDR", b"IDAT"])
def test_wrong_checksum_of_the_picture_is_damage(kind: bytes) -> None:
    png = media.png()
    place = png.index(kind) + 5
    broken = png[:place] + bytes([png[place] ^ 1]) + png[place + 1 :]
    detail = f"The image/png is damaged: the checksum of a {kind.decode()} chunk is wrong."
    assert check(broken, "image/png") == Damage("damaged-media", detail)


def test_wrong_checksum_outside_the_picture_can_be_repaired() -> None:
    png = media.png()
    wrong = with_chunk(png, chunk(b"iCCP", b"sRGB\0\0nothing", checksum=1))
    assert check(wrong, "image/png") == Damage(
        "damaged-media",
        "The checksum of its iCCP chunk is wrong; the picture itself is whole.",
        is_repairable=True,
        hints=MediaHints(64, 48),
    )
    assert without_damaged_chunks(wrong) == png
    assert not is_decoded(wrong)


def test_damaged_frame_damages_its_animation() -> None:
    animated = IMAGES["animated PNG"][1]
    place = animated.index(b"fdAT") + 9
    broken = animated[:place] + bytes([animated[place] ^ 1]) + animated[place + 1 :]
    repaired = without_damaged_chunks(broken)
    assert check(repaired, "image/png") is None
    assert is_decoded(repaired)
    assert not {b"acTL", b"fcTL", b"fdAT"} & {repaired[i : i + 4] for i in range(len(repaired))}


@pytest.mark.parametrize("data", [media.png(), media.png()[:70], media.jpeg(), b""])
def test_sound_files_are_not_repaired(data: bytes) -> None:
    assert without_damaged_chunks(data) is data


@pytest.mark.promise(
    "security.md#decoders",
    (
        "Files of millions of tiny pieces, or with impossible sizes, are checked for damage "
        "within bounds"
    ),
    kept_by="packages/dialects/src/pagefault_dialects/media/soundness/bounded_reader.py",
    tried="9 files of 200,000 pieces and more; 64 MiB, 256 reads, 100,000 pieces",
)
@pytest.mark.parametrize(
    ("mime_type", "data"),
    [
        ("image/png", media.png()[:33] + chunk(b"tEXt") * 200_000),
        ("image/jpeg", b"\xff\xd8" + b"\xff\xe0\0\2" * 200_000),
        ("image/jpeg", b"\xff\xd8\xff\xe0\0\2" + b"\xff\0" * 200_000),
        ("image/gif", b"GIF89a" + bytes(7) + b"!\xfe" + b"\1a" * 2_000_000),
        ("video/mp4", media.mp4()[:32] + b"\0\0\0\x08free" * 200_000),
        ("video/webm", media.webm(open_sizes=True) + b"\xa3\x80" * 200_000),
        ("audio/wav", b"RIFF\xff\xff\xff\xffWAVE" + b"abcd\0\0\0\0" * 200_000),
        ("video/webm", media.webm()[:4] + b"\x80" + b"\xec\x80" * 200_000 + b"webm"),
        ("application/pdf", b"%PDF-1.4\nxref\n" + b"0 0\n" * 200_000 + b"startxref\n9\n%%EOF"),
    ],
)
def test_file_of_too_many_pieces_is_not_judged(mime_type: str, data: bytes) -> None:
    assert check(data, mime_type) is None


@pytest.mark.parametrize(
    "box",
    [b"\0\0\0\0mdat", b"\0\0\0\1mdat" + b"\xff" * 8, b"\0\0\0\7mdat", b"\xff\xff\xff\xffmoov"],
)
def test_box_with_an_impossible_size_ends_the_file(box: bytes) -> None:
    assert check(b"\0\0\0\x10ftypisom\0\0\0\0" + box, "video/mp4") is not None

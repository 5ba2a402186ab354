"""Which media of a conversation are looked at, and what the turns say of them then."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.services.media.media_checks import MediaChecks
from app.services.renders.media_loader import check_media
from app.stores.blobs.filesystem import FilesystemBlobStore
from packages.dialects.tests.targets.composed import medium, profile, rule, turn
from pagefault_dialects.model.conversation import Address, InlineBytes, Item, Medium, TextItem
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import Damage, MediaHints
from pagefault_dialects.targets.profile import Profile
from tests.kit import media

PNG = media.png()
SOUND, CUT = InlineBytes(PNG), InlineBytes(PNG[:60])
MENDED = InlineBytes(PNG[:33] + bytes(4) + b"tEXt" + bytes(4) + PNG[33:])
DAMAGE = Damage("damaged-media", "The image/png is damaged: it ends inside of its IDAT chunk.")
IMAGES = profile(image=rule("image/png"))

pytestmark = pytest.mark.anyio


async def told(
    tmp_path: Path, *items: Item, target: Profile = IMAGES, options: RenderOptions | None = None
) -> list[Item]:
    checks = MediaChecks(FilesystemBlobStore(tmp_path))
    turns = [turn(item) for item in items]
    shown = await check_media(checks, "p", turns, target, options or RenderOptions())
    return [item for value in shown for item in value.items]


async def test_damage_is_told_of_the_medium_that_has_it(tmp_path: Path) -> None:
    items = (TextItem("/a", "x"), medium(source=SOUND), TextItem("/b", "y"), medium(source=CUT))
    damaged = medium(source=CUT, damage=DAMAGE)
    assert await told(tmp_path, *items) == [*items[:3], damaged]


async def test_pixels_that_were_not_known_are_those_of_what_can_be_repaired(
    tmp_path: Path,
) -> None:
    (found,) = await told(tmp_path, medium(source=MENDED, hints=MediaHints()))
    assert isinstance(found, Medium)
    assert found.damage is not None
    assert (found.damage.is_repairable, found.hints) == (True, MediaHints(64, 48))


@pytest.mark.parametrize(
    ("sources", "most", "expected"),
    [
        ((CUT, CUT, SOUND), 1, "---"),
        ((CUT, SOUND, CUT), 1, "--+"),
        ((CUT, CUT, SOUND, CUT), 2, "++-+"),
        ((CUT, SOUND, SOUND), 2, "---"),
        ((CUT, SOUND, SOUND), 3, "+--"),
        ((CUT, CUT), 0, "--"),
    ],
)
async def test_a_damaged_medium_makes_room_for_an_older_one(
    tmp_path: Path, sources: tuple[InlineBytes, ...], most: int, expected: str
) -> None:
    items = [medium(source=source) for source in sources]
    text = await told(tmp_path, *items, target=profile(image=rule("image/png", max_count=most)))
    marks = ["+" if isinstance(item, Medium) and item.damage else "-" for item in text]
    assert "".join(marks) == expected


@pytest.mark.parametrize(
    ("shown", "target"),
    [
        (medium(source=CUT), profile(audio=rule("audio/wav"))),
        (replace(medium(), source=Address("https://a.example/b.png"), size_bytes=None), IMAGES),
        (medium("application/zip", source=CUT), IMAGES),
    ],
)
async def test_what_is_not_shown_anyway_is_not_looked_at(
    tmp_path: Path, shown: Medium, target: Profile
) -> None:
    assert await told(tmp_path, shown, target=target) == [shown]

"""Turns at decoding images: none is decoded before the memory for its pixels is held."""

import pytest

from app.errors import OverloadedError
from app.models.limits import Limits
from app.services.images.image_work import ImageWork
from app.services.memory_budget.budget import MemoryBudget

pytestmark = pytest.mark.anyio
LIMITS = Limits(image_pixels=1_000)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "An image reserves memory for its pixels before it is decoded",
    kept_by="app/services/images/image_work.py",
    tried="8 bytes a pixel",
)
@pytest.mark.parametrize(
    ("width", "height", "pixels"), [(10, 20, 200), (100, 100, 1_000), (None, None, 1_000)]
)
async def test_image_holds_its_file_and_its_pixels_until_it_is_decoded(
    width: int | None, height: int | None, pixels: int
) -> None:
    budget = MemoryBudget(100_000)
    images = ImageWork(budget, LIMITS)
    async with images.turn(500, width, height):
        assert budget.held_bytes == 500 + 8 * pixels
    assert budget.held_bytes == 0


async def test_image_is_refused_where_its_pixels_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.services.memory_budget.budget.WAIT_SECONDS", 0.0)
    budget = MemoryBudget(100_000)
    images = ImageWork(budget, LIMITS)
    async with budget.holding(95_000):
        with pytest.raises(OverloadedError):
            async with images.turn(500, 100, 100):
                pass
    async with images.turn(500, 100, 100):
        assert budget.held_bytes == 8_500

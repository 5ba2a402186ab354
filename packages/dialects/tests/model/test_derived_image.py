"""Recipes of derived images."""

import pytest

from pagefault_dialects.model.resource import ImageRecipe


@pytest.mark.parametrize(
    ("recipe", "key"),
    [
        (ImageRecipe(("image/jpeg", "image/png"), 2_000, 3_750_000), "v1;jpeg,png;2000;3750000"),
        (ImageRecipe(("image/png", "image/jpeg"), None, None), "v1;png,jpeg;-;-"),
        (ImageRecipe((), 1, None), "v1;;1;-"),
    ],
)
def test_key_contains_the_whole_recipe(recipe: ImageRecipe, key: str) -> None:
    assert recipe.key == key

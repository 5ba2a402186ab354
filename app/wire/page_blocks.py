"""Shapes of pages as a model takes them: text, or text and image."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from pagefault_dialects.model.base import FrozenModel
from pagefault_dialects.model.render_options import ImageDetail


class TextBlock(FrozenModel):
    """What is said about the image beside it."""

    type: Literal["text"]
    text: str


class ImageUrl(FrozenModel):
    """Where the image is: an address, a data URI, or a `@blob:` reference."""

    url: str
    detail: ImageDetail


class ImageUrlBlock(FrozenModel):
    """An image as a model takes it."""

    type: Literal["image_url"]
    image_url: ImageUrl


Block = TypeAliasType("Block", Annotated[TextBlock | ImageUrlBlock, Field(discriminator="type")])
Blocks = TypeAliasType("Blocks", str | tuple[Block, ...])
"""What a tool message says of a page: text, or text and image."""

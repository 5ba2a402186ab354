"""Shapes of a page as the content of a tool message: text, or text with an image."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from pagefault_dialects.model.base import FrozenModel
from pagefault_dialects.model.page import TextContent
from pagefault_dialects.model.render_options import ImageDetail


class ImageUrl(FrozenModel):
    """The location of the image: an address, a data URI, or a `@blob:` reference."""

    url: str
    detail: ImageDetail


class ImageUrlBlock(FrozenModel):
    """An image for a model."""

    type: Literal["image_url"]
    image_url: ImageUrl


Block = TypeAliasType("Block", Annotated[TextContent | ImageUrlBlock, Field(discriminator="type")])
Blocks = TypeAliasType("Blocks", str | tuple[Block, ...])
"""The content of a tool message with a page: text, or text with an image."""

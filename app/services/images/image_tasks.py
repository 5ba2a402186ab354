"""Tasks of decoding: what to make of an image, in the same words for a thread and for the worker.

The worker is asked over a pipe: a line of JSON, and the bytes of the image. It answers in the same
way. Nothing is pickled, since what comes out of a decoder of hostile bytes is not trusted.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from pagefault_dialects.model.resource import ImageRecipe

MOST_LINE_BYTES = 4_096
ImageOutcome: TypeAlias = Literal["made", "same", "nothing", "too-costly", "out-of-memory"]
"""The outcome of a task: an image, the image itself, nothing that is possible, or no result."""


class TooCostlyError(Exception):
    """Decoding an image takes more passes over its pixels, or more memory, than is allowed.

    Args:
        reason: A sentence for people.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImageTask:
    """An image to be made of another one, and the bounds of decoding that."""

    mime_type: str
    """Its type if its own first bytes do not say."""
    recipe: ImageRecipe | None
    """The recipe of the new image; `None` for the smaller form of a page's image."""
    most_pixels: int
    """An image that decodes to more is not decoded."""
    most_work: int
    """The most pixels that a decoder goes over, in all passes."""

    def dump(self, *, size_bytes: int, memory_bytes: int, seconds: float) -> bytes:
        """Return the task as a line for the worker, with the bounds that it is held to."""
        line = asdict(self)
        line |= {"size_bytes": size_bytes, "memory_bytes": memory_bytes, "seconds": seconds}
        return json.dumps(line).encode() + b"\n"


def load_task(line: dict[str, object]) -> ImageTask:
    """Return the task in a line that `ImageTask.dump` has written, without the bounds."""
    recipe = line.pop("recipe")
    if isinstance(recipe, dict):
        recipe = ImageRecipe(**recipe | {"types": tuple(recipe["types"])})
    return ImageTask(recipe=recipe, **line)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """An answer of the worker, which the bytes of an image follow if it made one."""

    outcome: ImageOutcome
    size_bytes: int = 0
    mime_type: str = ""
    is_first_picture: bool = False
    reason: str = ""

    def dump(self) -> bytes:
        """Return the answer as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

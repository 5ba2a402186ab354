"""Tasks to make an image from another image, and their results.

`ImageWork` runs a task in a thread, or in the worker process. The worker gets a task over a pipe,
as a line of JSON followed by the bytes of the image; its result has the same format. `pickle` is
not used: the worker decodes hostile bytes, so its output cannot be trusted.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from pagefault_dialects.model.resource import ImageRecipe

MAX_LINE_BYTES = 4_096
"""The maximum size of the line of a result."""
ImageOutcome: TypeAlias = Literal["made", "same", "nothing", "too-costly", "out-of-memory"]
"""The outcome of a task.

`made`: there is a new image. `same`: the source fits the recipe already. `nothing`: no image that
fits can be made. `too-costly` and `out-of-memory`: the task was given up.
"""


class TooCostlyError(Exception):
    """Decoding an image needs more passes over its pixels, or more memory, than is allowed.

    Args:
        reason: A sentence that explains this to a person.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImageTask:
    """A task to make an image from another image, the source."""

    mime_type: str
    """The type of the source, which is used if its first bytes do not show the type."""
    recipe: ImageRecipe | None
    """The recipe of the new image; `None` for the reduced image of a memory page."""
    max_pixels: int
    """The maximum number of pixels of a decoded image."""
    max_work: int
    """The maximum number of pixels that a decoder processes, summed over all its passes."""

    def dump(self, *, size_bytes: int, memory_bytes: int, seconds: float) -> bytes:
        """Return the task as a line of JSON for the worker.

        Args:
            size_bytes: The size of the source, whose bytes follow the line.
            memory_bytes: The limit of additional memory of the worker.
            seconds: The time after which the worker ends itself.
        """
        fields = asdict(self)
        fields |= {"size_bytes": size_bytes, "memory_bytes": memory_bytes, "seconds": seconds}
        return json.dumps(fields).encode() + b"\n"


def load_task(fields: dict[str, object]) -> ImageTask:
    """Return the task from the fields of `ImageTask.dump`, without those of its arguments."""
    recipe = fields.pop("recipe")
    if isinstance(recipe, dict):
        recipe = ImageRecipe(**recipe | {"types": tuple(recipe["types"])})
    return ImageTask(recipe=recipe, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ImageResult:
    """The result of a task in the worker, without the bytes of the new image."""

    outcome: ImageOutcome
    size_bytes: int = 0
    """The size of the new image, whose bytes follow the line; 0 if there is none."""
    mime_type: str = ""
    is_first_picture: bool = False
    """True if the new image is the first picture of an animation."""
    reason: str = ""
    """The text of a `TooCostlyError`."""

    def dump(self) -> bytes:
        """Return the result as a line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

"""The contract of smaller images: an image, a recipe, and the image that fits it."""

from typing import Protocol

from pagefault_dialects.model.conversation import InlineBytes, StoredBytes
from pagefault_dialects.model.resource import DerivedImage, ImageRecipe


class SmallerImages(Protocol):
    """Makes images smaller. See `DerivedImages`."""

    async def get(
        self,
        project_id: str,
        source: StoredBytes | InlineBytes,
        *,
        mime_type: str,
        size_bytes: int,
        recipe: ImageRecipe,
    ) -> DerivedImage | None:
        """Return the image as the recipe wants it, made unless it has been.

        Args:
            project_id: Whose it is.
            source: The image.
            mime_type: Its type.
            size_bytes: How many bytes it has.
            recipe: The form that it has to fit.

        Returns:
            What was made. Its bytes are in the blob store, or in itself if the source is part of a
            record. It has no row where no resource has the bytes of the source. `None` if it cannot
            be made, or not now.

        Raises:
            TooCostlyError: It takes too much work or memory to decode the image.
            OverloadedError: The memory for its pixels was not free for a second, or too many images
                of the project wait.
            MalformedRequestError: The client has left.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """

"""The interface of smaller images: an image and a recipe give an image that fits it."""

from typing import Protocol

from pagefault_dialects.model.conversation import InlineBytes, StoredBytes
from pagefault_dialects.model.resource import DerivedImage, ImageRecipe


class SmallerImages(Protocol):
    """Derives smaller images. See `DerivedImages`."""

    async def get(
        self,
        project_id: str,
        source: StoredBytes | InlineBytes,
        *,
        mime_type: str,
        size_bytes: int,
        recipe: ImageRecipe,
    ) -> DerivedImage | None:
        """Return an image that fits a recipe; derive it if it was not derived before.

        Args:
            project_id: The project.
            source: The image.
            mime_type: Its type.
            size_bytes: Its size.
            recipe: The required form.

        Returns:
            The image. Its bytes are in the blob store, or in the object if the source is part of a
            record. It has no row if no resource has the bytes of the source. `None` if it cannot be
            derived, or not now.

        Raises:
            TooCostlyError: It takes too much work or memory to decode the image.
            OverloadedError: The memory for its pixels was not available within a second, or too
                many images of the project wait.
            MalformedRequestError: The client has left.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """

"""The interface of derived files: an image that fits a recipe, samples as a WAV file."""

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
            MalformedRequestError: The client has disconnected.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """

    async def get_wav(
        self, project_id: str, digest: str, *, mime_type: str, size_bytes: int
    ) -> DerivedImage | None:
        """Return stored samples without a header as a WAV file; derive it as `get` does.

        Args:
            project_id: The project.
            digest: The digest of the samples.
            mime_type: Their type.
            size_bytes: Their size.

        Returns:
            The file; `None` if it is too large to be made.

        Raises:
            OverloadedError: The memory for it was not available within a second.
            StoreUnavailableError: A store did not answer, or has lost the bytes.
        """

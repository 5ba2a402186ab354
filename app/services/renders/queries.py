"""Queries for renderings: the target, and its options."""

from dataclasses import dataclass

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.table import find_profile


@dataclass(frozen=True, slots=True)
class RenderQuery:
    """A target, and the options of a rendering for it."""

    target: str
    options: RenderOptions
    at: int | None = None
    """The `seq` of an entry. The session, with its frontier, is rendered as if it ended there."""

    def check_at(self, *, since: int, up_to: int | None) -> None:
        """Check that the other options fit `at`, if it is set.

        Raises:
            InvalidPayloadError: The frontier is missing, or `since` or `upTo` is set as well.
        """
        if self.at is None:
            return
        if self.options.frontier is None:
            raise InvalidPayloadError(
                "An earlier rendering is read by the frontier that moved for it. Name the frontier "
                "as well, or use `upTo` for a rendering without one.",
                faults=[Fault("/query/at", "needs frontier")],
            )
        if since or up_to is not None:
            raise InvalidPayloadError(
                "`at` reads the whole rendering of an earlier entry. Leave `since` and `upTo` out.",
                faults=[Fault("/query/at", "cannot stand beside since or upTo")],
            )

    def find_profile(self, *, can_sign: bool) -> Profile:
        """Return the profile of the target, for the image size and revision of the options.

        Raises:
            InvalidPayloadError: The target is unknown, or signed URLs need a public URL.
        """
        profile = find_profile(self.target, self.options)
        if self.options.media == "signed-url" and not can_sign:
            raise InvalidPayloadError(
                "Signed URLs need the URL by which providers reach this service, which is not set. "
                "Set PAGEFAULT_PUBLIC_URL, or use `media=inline`.",
                faults=[Fault("/media", "needs PAGEFAULT_PUBLIC_URL")],
            )
        return profile

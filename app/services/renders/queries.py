"""The query of a request for a rendering: its target and its options."""

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
    """The `seq` of an entry, to repeat the rendering that was made when this entry was the last.

    The stored frontier of that time is used. `None` for a rendering of the session as it is now.
    """

    def check_at(self, *, since: int, up_to: int | None) -> None:
        """Raise an error if other options cannot be combined with `at`.

        Args:
            since: The parameter `since` of the request, 0 if it is absent.
            up_to: The parameter `upTo` of the request.

        Raises:
            InvalidPayloadError: `at` is set, and the frontier is missing, or `since` or `upTo` is
                set too.
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
        """Return the profile of the target, the limits and rules of its API.

        It depends on the image size and the revision in the options.

        Args:
            can_sign: True if the service has a public URL, with which signed URLs begin.

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

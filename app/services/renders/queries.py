"""Queries for renderings, and the contract of a service that renders a session."""

from dataclasses import dataclass
from typing import Protocol

from app.services.inline_media.json_with_media import RenderedBody
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.table import find_profile


@dataclass(frozen=True, slots=True)
class RenderQuery:
    """For which target something is to be rendered, and how."""

    target: str
    options: RenderOptions

    def profile(self, *, can_sign: bool) -> Profile:
        """Return the target, within the size of images and in the revision that are asked for.

        Raises:
            InvalidPayloadError: There is no such target, or signed URLs would lead nowhere.
        """
        profile = find_profile(self.target, self.options)
        if self.options.media == "signed-url" and not can_sign:
            raise InvalidPayloadError(
                "Signed URLs would lead nowhere: nobody has said by which URL providers reach this "
                "service. Set PAGEFAULT_PUBLIC_URL, or ask for `media=inline`.",
                faults=[Fault("/media", "needs PAGEFAULT_PUBLIC_URL")],
            )
        return profile


class SessionRenderer(Protocol):
    """Renders the history of a session. See `SessionRenders`."""

    def check(self, query: RenderQuery, *, since: int = 0) -> object:
        """Make sure that a target and its options can be rendered.

        Raises:
            InvalidPayloadError: They cannot.
        """

    async def session(
        self,
        project_id: str,
        session_id: str,
        query: RenderQuery,
        *,
        since: int,
        moves: bool = False,
    ) -> RenderedBody:
        """Render the history of a session as one list of messages.

        Raises:
            PagefaultError: It cannot be rendered.
        """

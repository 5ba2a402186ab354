"""What is asked of a rendering: for which target, and how."""

from dataclasses import dataclass

from app.errors import Fault, InvalidPayloadError
from app.models.rendering import RenderOptions
from app.rendering.targets.mcp import of_revision
from app.rendering.targets.profile import Profile, narrowed
from app.rendering.targets.table import TARGETS


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
        profile = TARGETS.get(self.target)
        if profile is None:
            raise InvalidPayloadError(
                "There is no such target.",
                faults=[Fault("/target", f"must be one of {', '.join(TARGETS)}")],
            )
        if self.options.media == "signed-url" and not can_sign:
            raise InvalidPayloadError(
                "Signed URLs would lead nowhere: nobody has said by which URL providers reach this "
                "service. Set PAGEFAULT_PUBLIC_URL, or ask for `media=inline`.",
                faults=[Fault("/media", "needs PAGEFAULT_PUBLIC_URL")],
            )
        if self.target == "mcp":
            profile = of_revision(profile, self.options.protocol_version)
        return narrowed(profile, self.options)

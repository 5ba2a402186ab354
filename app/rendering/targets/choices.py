"""A medium on its way down the ladder, and the account of the steps it took."""

from dataclasses import dataclass, field

from app.models.conversation import (
    Address,
    Attachment,
    InlineBytes,
    Medium,
    SettledItem,
    StoredBytes,
    TextItem,
    Words,
)
from app.models.rendering import LossEntry, Rung, base64_length
from app.rendering.targets.fitting import MediumRef, Obstacle
from app.rendering.targets.lines import medium_words, placeholder


@dataclass(slots=True)
class Choice:
    """What a medium is shown as, so far.

    Attributes:
        place: Where it stands.
        attachment: What it is attached as; `None` for words.
        smaller: The smaller image that it may still become.
        words: What can be read in its place.
        is_first_picture: Whether the smaller image is but the first of an animation.
        rung: Where it is on the ladder.
        steps: The steps it took, in order.
    """

    place: MediumRef
    attachment: Attachment | None
    smaller: Attachment | None = None
    words: Words | None = None
    is_first_picture: bool = False
    rung: Rung = "original"
    steps: list[LossEntry] = field(default_factory=list)

    @property
    def base64_chars(self) -> int:
        """How much of a request it takes."""
        if self.attachment is None or self.attachment.address is not None:
            return 0
        return base64_length(self.attachment.size_bytes)

    @property
    def is_helped_by_pixels(self) -> bool:
        """Whether the smaller image takes less of a request."""
        if self.smaller is None:
            return False
        return base64_length(self.smaller.size_bytes) < self.base64_chars

    def step_down(self, obstacle: Obstacle, *, to_words: bool) -> None:
        """Go down: to the smaller or repaired image, if there is one of use, else to words."""
        if self.smaller is not None and not to_words:
            self._note("repaired" if obstacle.is_of_damage else "smaller", obstacle)
            self.attachment, self.smaller = self.smaller, None
        else:
            self._note("placeholder" if self.words is None else self.words.kind, obstacle)
            self.attachment = None

    def items(self) -> list[SettledItem]:
        """What stands in the place of the medium: itself, with what is to be said, or words."""
        medium = self.place.medium
        if self.attachment is None:
            return [TextItem(medium.pointer, text) for text in self._texts(medium)]
        said = [medium.before, self._note_of_smaller(self.attachment)]
        return [*(TextItem(medium.pointer, text) for text in said if text), self.attachment]

    def _texts(self, medium: Medium) -> list[str]:
        if medium.instead is not None:
            return [medium.instead]
        if self.words is None:
            return [placeholder(medium)]
        return [f"[{medium_words(medium)}, {self.words.kind} below]\n{self.words.text}"]

    def _note_of_smaller(self, attachment: Attachment) -> str | None:
        if self.rung == "original":
            return None
        medium = self.place.medium
        facts = ["repaired"] if self.rung == "repaired" else []
        was = (medium.hints.width, medium.hints.height)
        now = (attachment.hints.width, attachment.hints.height)
        if was != now:
            facts.append(f"shown as {now[0]}x{now[1]} instead of {was[0]}x{was[1]} pixels")
        if attachment.mime_type != medium.mime_type:
            facts.append(f"shown as {attachment.mime_type}")
        if self.is_first_picture:
            facts.append("only its first picture")
        return f"[{', '.join([medium_words(medium), *(facts or ['shown in fewer bytes'])])}]"

    def _note(self, to: Rung, obstacle: Obstacle) -> None:
        place = self.place
        self.steps.append(
            LossEntry(
                seq=place.turn.seq,
                pointer=place.medium.pointer,
                from_=self.rung,
                to=to,
                code=obstacle.code,
                reason=obstacle.reason,
                restore=_restore(place),
            )
        )
        self.rung = to


def _restore(place: MediumRef) -> str:
    match place.medium.source:
        case StoredBytes(resource_id=resource_id):
            return f"GET /api/resources/{resource_id}/content"
        case Address(url=url):
            return f"GET {url}"
        case InlineBytes():
            return f"GET {place.turn.origin}"

"""The form of each medium of a rendering, and its position on the ladder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    ComposedTurn,
    InlineBytes,
    MediaItem,
    Medium,
    Omission,
    ProviderBlock,
    ResolvedItem,
    StoredBytes,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import Rung, base64_length
from pagefault_dialects.targets.fitting import MediumRef, Obstacle
from pagefault_dialects.targets.media_lines import (
    medium_words,
    placeholder,
    size_words,
)
from pagefault_dialects.targets.profile import MediaClass
from pagefault_dialects.texts.file_texts import FileText


@dataclass(slots=True)
class Choice:
    """The current form of a medium."""

    place: MediumRef
    """The place of the medium."""
    attachment: MediaItem | None
    """The attachment; `None` for text."""
    smaller: MediaItem | None = None
    """The smaller image that it can step down to."""
    words: AlternativeText | None = None
    """The text that can replace it."""
    text: FileText | None = None
    """The text of the file that the words are from, if it is a text file."""
    is_first_picture: bool = False
    """True if the smaller image is only the first picture of an animation."""
    rung: Rung = "original"
    """The current rung."""
    steps: list[LossEntry] = field(default_factory=list)
    """The steps so far, in order."""
    waived: Obstacle | None = None
    """The obstacle that is ignored while its message is written as it was sent."""

    @property
    def base64_chars(self) -> int:
        """The characters that it takes in a request."""
        if self.attachment is None or self.attachment.address is not None:
            return 0
        return base64_length(self.attachment.size_bytes)

    @property
    def is_helped_by_pixels(self) -> bool:
        """True if the smaller image takes less of a request."""
        if self.smaller is None:
            return False
        return base64_length(self.smaller.size_bytes) < self.base64_chars

    def step_down(self, obstacle: Obstacle, *, to_words: bool) -> None:
        """Go down: to the smaller or repaired image if useful, else to text."""
        if self.smaller is not None and not to_words:
            self._note(obstacle.becomes, obstacle)
            self.attachment, self.smaller = self.smaller, None
        else:
            self._note("placeholder" if self.words is None else self.words.kind, obstacle)
            self.attachment = None
            if self.text is not None:
                self._note_text(self.text)

    def heed_obstacle(self) -> None:
        """Go down because of an obstacle that was waived."""
        obstacle, self.waived = self.waived, None
        if obstacle is not None and self.rung == "original":
            self.step_down(obstacle, to_words=not obstacle.fixable_by_resize)

    def items(self) -> list[ResolvedItem]:
        """Return the items in the medium's place: the attachment with its notes, or text."""
        medium = self.place.medium
        if self.attachment is None:
            return [TextItem(medium.pointer, self._text(medium))]
        notes = [medium.before, self._note_of_smaller(self.attachment)]
        return [*(TextItem(medium.pointer, text) for text in notes if text), self.attachment]

    def _text(self, medium: Medium) -> str:
        if medium.instead is not None:
            return medium.instead
        if self.words is None:
            return placeholder(medium)
        return f"[{medium_words(medium)}, {self.words.kind} below]\n{self.words.text}"

    def _note_of_smaller(self, attachment: MediaItem) -> str | None:
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

    def _note_text(self, text: FileText) -> None:
        if text.charset:
            reason = f"The text is in {text.charset}, and was decoded; the bytes stay."
            self._note_step(text.charset, "text", Obstacle("decoded", reason))
        if text.base64_runs:
            reason = f"Files in base64 are no words: {text.base64_runs} left out of the text."
            self._note_step("base64", "placeholder", Obstacle("base64-left-out", reason))
        if text.rest:
            reason = f"The text of the file is too long to be shown whole: {text.rest} left out."
            self._note_step("text", "preview", Obstacle("text-too-long", reason))

    def _note(self, to: Rung, obstacle: Obstacle) -> None:
        self._note_step(self.rung, to, obstacle)
        self.rung = to

    def _note_step(self, from_: str, to: str, why: Obstacle) -> None:
        place = self.place
        seq = place.medium.seq or place.turn.seq
        self.steps.append(loss_entry(why, place.medium.pointer, from_, to, _restore(place), seq))


def _restore(place: MediumRef) -> str:
    match place.medium.source:
        case StoredBytes(resource_id=resource_id):
            return f"GET /api/resources/{resource_id}/content"
        case Address(url=url):
            return f"GET {url}"
        case InlineBytes():
            return record_path(place.turn, place.medium)


def record_path(turn: ComposedTurn, item: Medium | Omission | ProviderBlock) -> str:
    """Return the request that reads an item's record."""
    if item.seq is None:
        return f"GET {turn.origin}"
    entries, _, _ = turn.origin.rpartition("/")
    return f"GET {entries}/{item.seq}"


def stored_media(choices: Iterable[Choice]) -> dict[str, MediaItem] | None:
    """Return the stored media by their ids; `None` if any medium is not original."""
    stored: dict[str, MediaItem] = {}
    for choice in choices:
        if choice.attachment is None or choice.rung != "original":
            return None
        if isinstance(source := choice.attachment.source, StoredBytes):
            stored[source.resource_id] = choice.attachment
    return stored


def hold_to_count(choices: Sequence[Choice], kind: MediaClass, most: int | None) -> None:
    """Replace the oldest media of a class by text until at most `most` are left."""
    if most is None:
        return
    attached = [item for item in choices if item.attachment and item.place.media_class == kind]
    obstacle = Obstacle(
        "too-many-media", f"At most {most} of this kind ({kind}) may be there; the newest stay."
    )
    for choice in attached[: max(0, len(attached) - most)]:
        choice.step_down(obstacle, to_words=True)


def hold_to_size(choices: Sequence[Choice], max_base64: int) -> None:
    """Step the oldest media down until all together fit: to smaller images, then to text."""
    obstacle = Obstacle(
        "request-too-large",
        f"All media together may have {size_words(max_base64)} of base64; the newest stay.",
    )
    for choice in choices:
        # A medium that does not fit alone would first evict all others, and then itself.
        while choice.base64_chars > max_base64:
            choice.step_down(obstacle, to_words=not choice.is_helped_by_pixels)
    total = sum(choice.base64_chars for choice in choices)
    for to_words in (False, True):
        for choice in choices:
            if total <= max_base64:
                return
            if not choice.base64_chars or not (to_words or choice.is_helped_by_pixels):
                continue
            total -= choice.base64_chars
            choice.step_down(obstacle, to_words=to_words)
            total += choice.base64_chars


def loss_entry(
    why: Obstacle | Omission | SyntheticNote | ProviderBlock,
    pointer: str,
    from_: str,
    to: str,
    restore: str,
    seq: int | None,
) -> LossEntry:
    """Return the loss entry of a step, an omission or an addition."""
    run = why.run if isinstance(why, Omission) else None
    from_seq, to_seq, count = run or (None, None, None)
    return LossEntry(
        seq=seq if run is None else None,
        from_seq=from_seq,
        to_seq=to_seq,
        count=count,
        pointer=pointer,
        from_=from_,
        to=to,
        code=why.code,
        reason=why.reason,
        restore=restore,
    )

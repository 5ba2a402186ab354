"""The form of each medium in a rendering: an attachment, a smaller image, or a text.

The media ladder makes a `MediumForm` for each medium, and moves it down rung by rung until all
media fit the target.
"""

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
    format_medium_name,
    format_placeholder,
    format_size,
)
from pagefault_dialects.targets.profile import MediaClass
from pagefault_dialects.texts.file_texts import FileText


@dataclass(slots=True)
class MediumForm:
    """The form of a medium, which changes while the medium goes down the ladder."""

    ref: MediumRef
    """The medium."""
    attachment: MediaItem | None
    """The attachment; `None` if the medium is replaced by text."""
    smaller: MediaItem | None = None
    """The smaller image that can replace the original."""
    words: AlternativeText | None = None
    """The text that can replace the medium."""
    text: FileText | None = None
    """The text that `words` is an excerpt of, if the medium is a text file."""
    is_first_picture: bool = False
    """True if the smaller image is only the first picture of an animation."""
    rung: Rung = "original"
    """The current rung of the ladder."""
    steps: list[LossEntry] = field(default_factory=list)
    """The loss entries of the steps down so far, in order."""
    ignored_obstacle: Obstacle | None = None
    """The obstacle of a medium whose message may be written as it was sent. It is applied only if
    the message is rewritten."""

    @property
    def base64_chars(self) -> int:
        """The characters of base64 that the form takes in a request."""
        if self.attachment is None or self.attachment.address is not None:
            return 0
        return base64_length(self.attachment.size_bytes)

    @property
    def is_smaller_useful(self) -> bool:
        """True if there is a smaller image, and its base64 is shorter."""
        if self.smaller is None:
            return False
        return base64_length(self.smaller.size_bytes) < self.base64_chars

    def step_down(self, obstacle: Obstacle, *, to_text: bool) -> None:
        """Replace the original by the derived image, or an image by text.

        Args:
            obstacle: The reason.
            to_text: True to replace it by text even if there is a derived image.
        """
        if self.smaller is not None and not to_text:
            self._move_to(obstacle.rung, obstacle)
            self.attachment, self.smaller = self.smaller, None
        else:
            self._move_to("placeholder" if self.words is None else self.words.kind, obstacle)
            self.attachment = None
            if self.text is not None:
                self._note_text(self.text)

    def apply_obstacle(self) -> None:
        """Step down because of `ignored_obstacle`, if there is one."""
        obstacle, self.ignored_obstacle = self.ignored_obstacle, None
        if obstacle is not None and self.rung == "original":
            self.step_down(obstacle, to_text=not obstacle.fixable_by_resize)

    def render_items(self) -> list[ResolvedItem]:
        """Return the items that are rendered: the attachment with its notes, or a text."""
        medium = self.ref.medium
        if self.attachment is None:
            return [TextItem(medium.pointer, self._replacement_text(medium))]
        notes = [medium.before, self._describe_changes(self.attachment)]
        return [*(TextItem(medium.pointer, text) for text in notes if text), self.attachment]

    def _replacement_text(self, medium: Medium) -> str:
        """Return the text that replaces the medium: its words, or one line."""
        if medium.instead is not None:
            return medium.instead
        if self.words is None:
            return format_placeholder(medium)
        return f"[{format_medium_name(medium)}, {self.words.kind} below]\n{self.words.text}"

    def _describe_changes(self, attachment: MediaItem) -> str | None:
        """Return a line that says how an image differs from the original."""
        if self.rung == "original":
            return None
        medium = self.ref.medium
        changes = ["repaired"] if self.rung == "repaired" else []
        old = (medium.hints.width, medium.hints.height)
        new = (attachment.hints.width, attachment.hints.height)
        if old != new:
            changes.append(f"shown as {new[0]}x{new[1]} instead of {old[0]}x{old[1]} pixels")
        if attachment.mime_type != medium.mime_type:
            changes.append(f"shown as {attachment.mime_type}")
        if self.is_first_picture:
            changes.append("only its first picture")
        return (
            f"[{', '.join([format_medium_name(medium), *(changes or ['shown in fewer bytes'])])}]"
        )

    def _note_text(self, text: FileText) -> None:
        """Add a loss entry for each difference between a text file and the text that is shown."""
        if text.charset:
            reason = f"The text is in {text.charset}, and was decoded; the bytes stay."
            self._note_step(text.charset, "text", Obstacle("decoded", reason))
        if text.base64_runs:
            reason = f"Files in base64 are no words: {text.base64_runs} left out of the text."
            self._note_step("base64", "placeholder", Obstacle("base64-left-out", reason))
        if text.left_out:
            reason = (
                f"The text of the file is too long to be shown whole: {text.left_out} left out."
            )
            self._note_step("text", "preview", Obstacle("text-too-long", reason))

    def _move_to(self, rung: Rung, obstacle: Obstacle) -> None:
        """Change the rung, and add a loss entry."""
        self._note_step(self.rung, rung, obstacle)
        self.rung = rung

    def _note_step(self, from_: str, to: str, obstacle: Obstacle) -> None:
        """Add a loss entry for a step from one form to another."""
        medium = self.ref.medium
        seq = medium.seq or self.ref.turn.seq
        restore = _make_restoring_request(self.ref)
        self.steps.append(make_loss_entry(obstacle, medium.pointer, from_, to, restore, seq))


def _make_restoring_request(ref: MediumRef) -> str:
    """Return the HTTP request, such as `GET /path`, that reads the original of a medium."""
    match ref.medium.source:
        case StoredBytes(resource_id=resource_id):
            return f"GET /api/resources/{resource_id}/content"
        case Address(url=url):
            return f"GET {url}"
        case InlineBytes():
            return make_record_request(ref.turn, ref.medium)


def make_record_request(turn: ComposedTurn, item: Medium | Omission | ProviderBlock) -> str:
    """Return the HTTP request, such as `GET /path`, that reads the record of an item."""
    if item.seq is None:
        return f"GET {turn.origin}"
    list_path, _, _ = turn.origin.rpartition("/")
    return f"GET {list_path}/{item.seq}"


def find_stored_media(forms: Iterable[MediumForm]) -> dict[str, MediaItem] | None:
    """Return the stored media by their resource ids; `None` if any medium is not an original."""
    stored: dict[str, MediaItem] = {}
    for form in forms:
        if form.attachment is None or form.rung != "original":
            return None
        if isinstance(source := form.attachment.source, StoredBytes):
            stored[source.resource_id] = form.attachment
    return stored


def limit_count(forms: Sequence[MediumForm], kind: MediaClass, max_media: int | None) -> None:
    """Replace the oldest media of a class by text until at most `max_media` are left."""
    if max_media is None:
        return
    attached = [item for item in forms if item.attachment and item.ref.media_class == kind]
    obstacle = Obstacle(
        "too-many-media",
        f"At most {max_media} of this kind ({kind}) may be there; the newest stay.",
    )
    for form in attached[: max(0, len(attached) - max_media)]:
        form.step_down(obstacle, to_text=True)


def limit_size(forms: Sequence[MediumForm], max_base64: int) -> bool:
    """Replace the oldest media by smaller images, and then by text, until all together fit.

    Returns:
        Whether media were replaced although each of them would fit alone.
    """
    obstacle = Obstacle(
        "request-too-large",
        f"All media together may have {format_size(max_base64)} of base64; the newest stay.",
    )
    for form in forms:
        # First reduce media that do not fit even alone. Otherwise all older media would be reduced
        # in vain.
        while form.base64_chars > max_base64:
            form.step_down(obstacle, to_text=not form.is_smaller_useful)
    total = sum(form.base64_chars for form in forms)
    is_exceeded = total > max_base64
    for to_text in (False, True):
        for form in forms:
            if total <= max_base64:
                return is_exceeded
            if not form.base64_chars or not (to_text or form.is_smaller_useful):
                continue
            total -= form.base64_chars
            form.step_down(obstacle, to_text=to_text)
            total += form.base64_chars
    return is_exceeded


def make_loss_entry(
    cause: Obstacle | Omission | SyntheticNote | ProviderBlock,
    pointer: str,
    from_: str,
    to: str,
    restore: str,
    seq: int | None,
) -> LossEntry:
    """Return the loss entry of a step down, an omission or an addition.

    Args:
        cause: The step, the omission or the addition, with its code and reason.
        pointer: The JSON pointer of the value in its record.
        from_: The kind of the value in the record, such as `original`.
        to: The kind of the value in the rendering, such as `placeholder`.
        restore: The HTTP request that reads the original.
        seq: The `seq` of the entry; ignored for an omission that replaces a run of entries.
    """
    run = cause.run if isinstance(cause, Omission) else None
    from_seq, to_seq, count = run or (None, None, None)
    return LossEntry(
        seq=seq if run is None else None,
        from_seq=from_seq,
        to_seq=to_seq,
        count=count,
        pointer=pointer,
        from_=from_,
        to=to,
        code=cause.code,
        reason=cause.reason,
        restore=restore,
    )

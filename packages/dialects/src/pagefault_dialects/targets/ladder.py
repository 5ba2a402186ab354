"""The ladder: what becomes of each medium of a conversation, for one target.

    original → smaller image → caption, transcript or text → one line

A medium goes down a rung at a time until it, and all of them together, fit the target. Where there
are too many, the oldest go first. Every step is an entry of the loss, and the text that a model
reads says it too.

Source: `providers`, degradation ladder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeGuard, cast

from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Invented,
    LeftOut,
    MediaItem,
    Medium,
    MediumSource,
    SettledItem,
    SettledTurn,
    StoredBytes,
    TextItem,
    Words,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions, Rung, base64_length
from pagefault_dialects.model.resource import DerivedImage, Resource
from pagefault_dialects.targets.fitting import Fitting, LoadedMedia, MediumRef, Obstacle, places_of
from pagefault_dialects.targets.media_lines import (
    ERROR_LINE,
    label_line,
    medium_words,
    placeholder,
    size_words,
)
from pagefault_dialects.targets.profile import MediaClass, Profile

_CLASSES: tuple[MediaClass, ...] = ("image", "audio", "video", "document")


@dataclass(slots=True)
class Choice:
    """What a medium is shown as, so far."""

    place: MediumRef
    """Where it stands."""
    attachment: MediaItem | None
    """What it is attached as; `None` for words."""
    smaller: MediaItem | None = None
    """The smaller image that it may still become."""
    words: Words | None = None
    """What can be read in its place."""
    charset: str | None = None
    """In which charset of before Unicode the words are."""
    is_first_picture: bool = False
    """Whether the smaller image is but the first of an animation."""
    rung: Rung = "original"
    """Where it is on the ladder."""
    steps: list[LossEntry] = field(default_factory=list)
    """The steps it took, in order."""

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
            self._note(obstacle.becomes, obstacle)
            self.attachment, self.smaller = self.smaller, None
        else:
            self._note("placeholder" if self.words is None else self.words.kind, obstacle)
            self.attachment = None
            if self.charset is not None:
                self._note_charset(self.charset)

    def items(self) -> list[SettledItem]:
        """Return what stands in the medium's place: itself, with what is to be said, or words."""
        medium = self.place.medium
        if self.attachment is None:
            return [TextItem(medium.pointer, self._text(medium))]
        said = [medium.before, self._note_of_smaller(self.attachment)]
        return [*(TextItem(medium.pointer, text) for text in said if text), self.attachment]

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

    def _note_charset(self, charset: str) -> None:
        place = self.place
        why = Obstacle("decoded", f"The text is in {charset}, and was decoded; the bytes stay.")
        seq = place.medium.seq or place.turn.seq
        self.steps.append(_entry(why, place.medium.pointer, charset, "text", _restore(place), seq))

    def _note(self, to: Rung, obstacle: Obstacle) -> None:
        place = self.place
        seq = place.medium.seq or place.turn.seq
        entry = _entry(obstacle, place.medium.pointer, self.rung, to, _restore(place), seq)
        self.steps.append(entry)
        self.rung = to


def _restore(place: MediumRef) -> str:
    match place.medium.source:
        case StoredBytes(resource_id=resource_id):
            return f"GET /api/resources/{resource_id}/content"
        case Address(url=url):
            return f"GET {url}"
        case InlineBytes():
            return _get(place.turn, place.medium)


def _get(turn: ComposedTurn, item: Medium | LeftOut) -> str:
    """Return the request that reads the record an item stands in."""
    if item.seq is None:
        return f"GET {turn.origin}"
    entries, _, _ = turn.origin.rpartition("/")
    return f"GET {entries}/{item.seq}"


Sign = Callable[[str], str]
"""Makes the signed URL of a resource, of its id."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A conversation in which nothing is left to decide, and what it cost, in reading order.

    `loss_of_turns` says of each turn how many entries of the loss are its own.
    """

    turns: tuple[SettledTurn, ...]
    loss: tuple[LossEntry, ...]
    loss_of_turns: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Settles conversations for one target."""

    profile: Profile
    """The target."""
    options: RenderOptions
    """What the caller asked for."""
    _: KW_ONLY
    most_base64: int
    """The most characters of base64 in one rendering."""
    sign: Sign | None
    """Makes URLs of stored media, where those are asked for."""

    def settle(self, turns: Sequence[ComposedTurn], loaded: LoadedMedia) -> Settled:
        """Return the conversation as the target can take it.

        Args:
            turns: The conversation.
            loaded: The media that were loaded for its plan.
        """
        places = places_of(turns)
        fitting = Fitting(self.profile, self.options, places)
        choices = [self._alone(place, fitting, loaded) for place in places]
        for kind in _CLASSES:
            _hold_to_count(choices, kind, fitting.most(kind))
        _hold_to_size(choices, self.most_base64)
        following = iter(choices)
        settled = [self._settled(turn, following) for turn in turns]
        return Settled(
            tuple(turn for turn, _ in settled),
            tuple(entry for _, entries in settled for entry in entries),
            tuple(len(entries) for _, entries in settled),
        )

    def _alone(self, place: MediumRef, fitting: Fitting, loaded: LoadedMedia) -> Choice:
        """Return a medium as far down as its own limits make it go."""
        medium = place.medium
        text = loaded.texts.get(place.index)
        made = loaded.images.get(place.index)
        choice = Choice(
            place,
            self._attached(place, medium.source, medium),
            smaller=None if made is None else self._smaller(place, made),
            words=Words("text", text) if medium.words is None and text else medium.words,
            charset=loaded.charsets.get(place.index) if medium.words is None else None,
            is_first_picture=made is not None and made.is_first_picture,
        )
        obstacle = fitting.obstacle(place)
        if obstacle is not None:
            obstacle = loaded.explain(place, obstacle)
            choice.step_down(obstacle, to_words=not obstacle.fixable_by_resize)
        return choice

    def _smaller(self, place: MediumRef, made: DerivedImage) -> MediaItem:
        resource = made.resource
        source: MediumSource = StoredBytes(resource.resource_id, resource.digest)
        if made.data is not None:
            # What is made of bytes that are part of a record has no resource to refer to.
            source = InlineBytes(made.data)
        return self._attached(place, source, resource)

    def _attached(
        self, place: MediumRef, source: MediumSource, known: Medium | Resource
    ) -> MediaItem:
        """Return a medium as a message holds it, given by bytes of which more is known."""
        medium = place.medium
        address: str | None = None
        is_reference = False
        if isinstance(source, Address):
            address = source.url
        elif isinstance(source, StoredBytes) and self.options.media == "reference":
            address, is_reference = f"@blob:{source.resource_id}", True
        elif isinstance(source, StoredBytes) and self.sign is not None:
            url = self.sign(source.resource_id)
            is_loaded = self.profile.loads(url, medium.kind, place.turn.role)
            address = url if is_loaded else None
        size_bytes = known.size_bytes or 0
        return MediaItem(
            *(medium, source, medium.kind, known.mime_type, size_bytes, known.hints),
            address=address,
            is_reference=is_reference,
            detail=self.options.detail or medium.detail,
        )

    def _settled(
        self, turn: ComposedTurn, following: Iterator[Choice]
    ) -> tuple[SettledTurn, list[LossEntry]]:
        if _is_settled(turn) and not (turn.is_error and not self.profile.has_error_flag):
            return turn, []
        items: list[SettledItem] = []
        loss: list[LossEntry] = []
        if turn.is_error and not self.profile.has_error_flag:
            items.append(TextItem("", ERROR_LINE))
        for item in turn.items:
            if isinstance(item, Medium):
                choice = next(following)
                items += choice.items()
                loss += choice.steps
            elif isinstance(item, LeftOut):
                if not self._is_taken(turn, item):
                    restore = item.restore or _get(turn, item)
                    seq = item.seq or turn.seq
                    loss.append(_entry(item, item.pointer, item.what, item.to, restore, seq))
            elif isinstance(item, Invented):
                restore = f"GET {turn.origin}"
                loss.append(_entry(item, "", "nothing", item.what, restore, item.seq))
            else:
                items += self._with_label(item)
        return cast(SettledTurn, replace(cast(Any, turn), items=tuple(items))), loss

    def _with_label(self, item: TextItem | DataItem) -> list[SettledItem]:
        """Return an item behind a line that says what it is called, unless its block does."""
        if not isinstance(item, TextItem) or item.label is None:
            return [item]
        is_resource = self.profile.has_resources and item.label.uri is not None
        line = None if is_resource else label_line(item.label, item.text)
        return [item] if line is None else [TextItem(item.pointer, line), item]

    def _is_taken(self, turn: ComposedTurn, item: LeftOut) -> bool:
        """Return whether the target takes what is too long for words as a value of its own."""
        if item.code != "stored-apart" or turn.structured is None:
            return False
        return self.profile.takes_structured(turn.structured[0])


def _is_settled(turn: ComposedTurn) -> TypeGuard[SettledTurn]:
    """Return whether a turn has nothing to decide; most have texts only."""
    return all(
        item.label is None if isinstance(item, TextItem) else isinstance(item, DataItem)
        for item in turn.items
    )


def _hold_to_count(choices: Sequence[Choice], kind: MediaClass, most: int | None) -> None:
    """Put words in the place of the oldest media of a class until at most `most` are left."""
    if most is None:
        return
    attached = [each for each in choices if each.attachment and each.place.media_class == kind]
    obstacle = Obstacle(
        "too-many-media", f"At most {most} of this kind ({kind}) may be there; the newest stay."
    )
    for choice in attached[: max(0, len(attached) - most)]:
        choice.step_down(obstacle, to_words=True)


def _hold_to_size(choices: Sequence[Choice], most_base64: int) -> None:
    """Step the oldest media down until all together fit: to smaller images, then to words."""
    obstacle = Obstacle(
        "request-too-large",
        f"All media together may have {size_words(most_base64)} of base64; the newest stay.",
    )
    for choice in choices:
        # What does not fit alone would drive out all others and go itself in the end.
        while choice.base64_chars > most_base64:
            choice.step_down(obstacle, to_words=not choice.is_helped_by_pixels)
    total = sum(choice.base64_chars for choice in choices)
    for to_words in (False, True):
        for choice in choices:
            if total <= most_base64:
                return
            if not choice.base64_chars or not (to_words or choice.is_helped_by_pixels):
                continue
            total -= choice.base64_chars
            choice.step_down(obstacle, to_words=to_words)
            total += choice.base64_chars


def _entry(
    why: Obstacle | LeftOut | Invented,
    pointer: str,
    from_: str,
    to: str,
    restore: str,
    seq: int | None,
) -> LossEntry:
    return LossEntry(
        seq=seq,
        pointer=pointer,
        from_=from_,
        to=to,
        code=why.code,
        reason=why.reason,
        restore=restore,
    )

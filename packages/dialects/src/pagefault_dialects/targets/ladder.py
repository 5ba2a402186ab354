"""The ladder: what becomes of each medium of a conversation, for one target.

    original → smaller image → caption, transcript or text → one line

A medium goes down a rung at a time until it, and all of them together, fit the target. Where there
are too many, the oldest go first. Every step is an entry of the loss, and the text that a model
reads says it too.

Source: `providers`, degradation ladder.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeGuard, cast

from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    MediaItem,
    Medium,
    MediumSource,
    Omission,
    ProviderBlock,
    ResolvedItem,
    ResolvedTurn,
    StoredBytes,
    SyntheticNote,
    TextItem,
    is_cache_mark,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.media_handles import handle_of
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import DerivedImage, Resource
from pagefault_dialects.targets.base64_leaves import Node
from pagefault_dialects.targets.fitting import Fitting, LoadedMedia, MediumRef, Obstacle, places_of
from pagefault_dialects.targets.media_choices import (
    Choice,
    hold_to_count,
    hold_to_size,
    loss_entry,
    record_path,
    stored_media,
)
from pagefault_dialects.targets.media_lines import (
    ERROR_LINE,
    label_line,
)
from pagefault_dialects.targets.native_blocks import TurnBlocks, part_of, turn_blocks
from pagefault_dialects.targets.native_messages import (
    NativeRun,
    has_place_for,
    media_of,
    places_by_turn,
    runs_at_home,
)
from pagefault_dialects.targets.profile import MediaClass, Profile
from pagefault_dialects.targets.thoughts import takes_thought, takes_thoughts, without_signature

_CLASSES: tuple[MediaClass, ...] = ("image", "audio", "video", "document")


Sign = Callable[[str], str]
"""Makes the signed URL of a resource, of its id."""


@dataclass(frozen=True, slots=True)
class ResolvedTurns:
    """A conversation in which nothing is left to decide, and what it cost, in reading order.

    `loss_of_turns` says of each turn how many entries of the loss are its own.
    """

    turns: tuple[ResolvedTurn, ...]
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

    def settle(self, turns: Sequence[ComposedTurn], loaded: LoadedMedia) -> ResolvedTurns:
        """Return the conversation as the target can take it.

        Args:
            turns: The conversation.
            loaded: The media that were loaded for its plan.
        """
        places = places_of(turns)
        fitting = Fitting(self.profile, self.options, places)
        obstacles = [fitting.obstacle(place) for place in places]
        media = places_by_turn(turns)
        runs = runs_at_home(turns, self.profile, self.options, places, obstacles)
        at_home = {at for run in runs for at in media_of(run, media)}
        choices = [
            self._alone(place, obstacles[at], loaded, is_kept=at in at_home)
            for at, place in enumerate(places)
        ]
        for kind in _CLASSES:
            hold_to_count(choices, kind, fitting.most(kind))
        hold_to_size(choices, self.most_base64)
        written: dict[int, tuple[Node, ...]] = {}
        for run in runs:
            written |= _write(run, [choices[at] for at in media_of(run, media)])
        settled = [
            self._settled(turn, [choices[at] for at in media[index]], written.get(index))
            for index, turn in enumerate(turns)
        ]
        return ResolvedTurns(
            tuple(turn for turn, _ in settled),
            tuple(entry for _, entries in settled for entry in entries),
            tuple(len(entries) for _, entries in settled),
        )

    def _alone(
        self, place: MediumRef, obstacle: Obstacle | None, loaded: LoadedMedia, *, is_kept: bool
    ) -> Choice:
        """Return a medium as far down as its own limits make it go."""
        medium = place.medium
        text = loaded.texts.get(place.index) if medium.words is None else None
        shown = None if text is None else text.around(_way_back(place))
        made = loaded.images.get(place.index)
        choice = Choice(
            place,
            self._attached(place, medium.source, medium),
            smaller=None if made is None else self._smaller(place, made),
            words=AlternativeText("text", shown) if shown else medium.words,
            text=text,
            is_first_picture=made is not None and made.is_first_picture,
        )
        if obstacle is not None:
            choice.waived = loaded.explain(place, obstacle)
            if not is_kept:
                choice.heed_obstacle()
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
            detail=self.profile.detail(self.options.detail or medium.detail),
        )

    def _settled(
        self, turn: ComposedTurn, choices: Sequence[Choice], written: tuple[Node, ...] | None
    ) -> tuple[ResolvedTurn, list[LossEntry]]:
        is_told_error = turn.is_error and not self.profile.has_error_flag
        if written is None and _is_settled(turn) and not is_told_error:
            return turn, []
        items: list[ResolvedItem] = []
        loss: list[LossEntry] = []
        if is_told_error:
            items.append(TextItem("", ERROR_LINE))
        following = iter(choices)
        blocks = TurnBlocks(turn)
        if written is None:
            blocks = turn_blocks(turn, choices, self.profile, self.options)
        for item in turn.items:
            loss += blocks.loss(item)
            choice = next(following) if isinstance(item, Medium) else None
            if (block := blocks.find(item)) is not None:
                items += part_of(block, item, choice)
                continue
            shown, steps = self._shown(turn, item, choice, is_written=written is not None)
            items += shown
            loss += steps
        calls = turn.calls
        if not takes_thoughts(turn.natives, self.options):
            calls = tuple(map(without_signature, calls))
        settled = replace(cast(Any, turn), items=tuple(items), calls=calls, written=written)
        return cast(ResolvedTurn, settled), loss

    def _shown(
        self, turn: ComposedTurn, item: Item, choice: Choice | None, *, is_written: bool
    ) -> tuple[list[ResolvedItem], list[LossEntry]]:
        """Return what stands in the place of an item, and what is lost of it.

        Args:
            turn: Where it stands.
            item: The item.
            choice: What it is shown as, if it is a medium.
            is_written: Whether the message is written as it was sent.
        """
        if isinstance(item, TextItem | DataItem):
            return self._with_label(item), []
        if isinstance(item, ProviderBlock):
            shown, steps = self._block(turn, item)
            return shown, [] if is_written else steps
        if isinstance(item, SyntheticNote):
            restore = f"GET {turn.origin}"
            return [], [loss_entry(item, "", "nothing", item.what, restore, item.seq)]
        if isinstance(item, Omission):
            if is_written or self._is_taken(turn, item):
                return [], []
            restore, seq = item.restore or record_path(turn, item), item.seq or turn.seq
            return [], [loss_entry(item, item.pointer, item.what, item.to, restore, seq)]
        return ([], []) if choice is None else (choice.items(), choice.steps)

    def _block(
        self, turn: ComposedTurn, block: ProviderBlock
    ) -> tuple[list[ResolvedItem], list[LossEntry]]:
        """Return a block for its provider as it is, for others in words."""
        is_of_model = block.code != "reasoning" or takes_thought(block.model, self.options)
        if self.profile.takes_block(block, turn.role) and is_of_model:
            own = {self.profile.home: block.forms[self.profile.home]}
            return [replace(block, forms=own)], []
        if is_cache_mark(block):
            return [], []
        words: list[ResolvedItem] = [TextItem(block.pointer, block.words)] if block.words else []
        to = "text" if words else "nothing"
        restore, seq = record_path(turn, block), block.seq or turn.seq
        return words, [loss_entry(block, block.pointer, block.what, to, restore, seq)]

    def _with_label(self, item: TextItem | DataItem) -> list[ResolvedItem]:
        """Return an item behind a line that says what it is called, unless its block does."""
        if not isinstance(item, TextItem) or item.label is None:
            return [item]
        is_resource = self.profile.has_resources and item.label.uri is not None
        line = None if is_resource else label_line(item.label, item.text)
        return [item] if line is None else [TextItem(item.pointer, line), item]

    def _is_taken(self, turn: ComposedTurn, item: Omission) -> bool:
        """Return whether the target shows it all the same, as words are no place for it."""
        if self.profile.home in item.kept_by:
            return takes_thoughts(turn.natives, self.options)
        if item.code != "stored-apart" or turn.structured is None:
            return False
        return self.profile.takes_structured(turn.structured[0])


def _way_back(place: MediumRef) -> str:
    """Return the call that shows all of a text file, if a model can make one."""
    handle = handle_of(place.medium, place.turn.entry_seq(place.medium.seq))
    return f'read_text("{handle}")' if handle else ""


def _write(run: NativeRun, choices: Sequence[Choice]) -> dict[int, tuple[Node, ...]]:
    """Return the messages of a run by its turns; none if its media are not shown as they are."""
    stored = stored_media(choices)
    if stored is None or not has_place_for(run, stored):
        for choice in choices:
            choice.heed_obstacle()
        return {}
    further = dict.fromkeys(range(run.start + 1, run.stop), cast("tuple[Node, ...]", ()))
    return {run.start: run.write(stored), **further}


def _is_settled(turn: ComposedTurn) -> TypeGuard[ResolvedTurn]:
    """Return whether a turn has nothing to decide; most have texts only."""
    return all(
        item.label is None is item.block
        if isinstance(item, TextItem)
        else isinstance(item, DataItem)
        for item in turn.items
    )

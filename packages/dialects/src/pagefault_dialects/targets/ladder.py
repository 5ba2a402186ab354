"""The media ladder: the form of each medium of a conversation, for one target.

    original → smaller image → caption, transcript or text → one line

A medium goes down a rung at a time until it, and all media together, fit the target. If there are
too many, the oldest go first. Every step is an entry of the loss account, and noted in the text
that a model reads.

Source: `providers`, degradation ladder.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeGuard, cast

from pagefault_dialects.media.raw_audio import WAV_TYPE, WavFile
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
"""Returns the signed URL of a resource, by its id."""


@dataclass(frozen=True, slots=True)
class ResolvedTurns:
    """Turns with all media resolved, and the loss account, in reading order.

    `loss_of_turns` has the number of loss entries of each turn.
    """

    turns: tuple[ResolvedTurn, ...]
    loss: tuple[LossEntry, ...]
    loss_of_turns: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Ladder:
    """The ladder of one target."""

    profile: Profile
    """The target."""
    options: RenderOptions
    """The options of the rendering."""
    _: KW_ONLY
    max_base64: int
    """The most characters of base64 in one rendering."""
    sign: Sign | None
    """Signs URLs of stored media, if such are requested."""

    def resolve(self, turns: Sequence[ComposedTurn], loaded: LoadedMedia) -> ResolvedTurns:
        """Return the conversation in the forms that the target accepts.

        Args:
            turns: The conversation.
            loaded: The media loaded for its plan.
        """
        places = places_of(turns)
        fitting = Fitting(self.profile, self.options, places)
        obstacles = [fitting.obstacle(place) for place in places]
        media = places_by_turn(turns)
        runs = runs_at_home(turns, self.profile, self.options, places, obstacles)
        at_home = {at for run in runs for at in media_of(run, media)}
        choices = [
            self._alone(place, obstacles[at], loaded, fitting.wav(place), is_kept=at in at_home)
            for at, place in enumerate(places)
        ]
        for kind in _CLASSES:
            hold_to_count(choices, kind, fitting.most(kind))
        hold_to_size(choices, self.max_base64)
        written: dict[int, tuple[Node, ...]] = {}
        for run in runs:
            written |= _write(run, [choices[at] for at in media_of(run, media)])
        resolved = [
            self._resolve_turn(turn, [choices[at] for at in media[index]], written.get(index))
            for index, turn in enumerate(turns)
        ]
        return ResolvedTurns(
            tuple(turn for turn, _ in resolved),
            tuple(entry for _, entries in resolved for entry in entries),
            tuple(len(entries) for _, entries in resolved),
        )

    def _alone(
        self,
        place: MediumRef,
        obstacle: Obstacle | None,
        loaded: LoadedMedia,
        wav: WavFile | None,
        *,
        is_kept: bool,
    ) -> Choice:
        """Return a medium as far down the ladder as its own limits require."""
        medium = place.medium
        if wav is not None and not is_kept and (whole := self._as_wav(place, loaded, wav)):
            # With its header, the sound is still the original.
            return Choice(place, whole)
        text = loaded.texts.get(place.index) if medium.words is None else None
        excerpt = None if text is None else text.abridged(_reading_call(place))
        made = loaded.images.get(place.index)
        choice = Choice(
            place,
            self._attached(place, medium.source, medium),
            smaller=None if made is None else self._smaller(place, made),
            words=AlternativeText("text", excerpt) if excerpt else medium.words,
            text=text,
            is_first_picture=made is not None and made.is_first_picture,
        )
        if obstacle is not None:
            choice.waived = loaded.explain(place, obstacle)
            if not is_kept:
                choice.heed_obstacle()
        return choice

    def _as_wav(self, place: MediumRef, loaded: LoadedMedia, wav: WavFile) -> MediaItem | None:
        medium = place.medium
        if isinstance(medium.source, InlineBytes):
            known = replace(medium, mime_type=WAV_TYPE, size_bytes=wav.size_bytes)
            return self._attached(place, InlineBytes(wav.whole(medium.source.data)), known)
        made = loaded.wavs.get(place.index)
        return None if made is None else self._smaller(place, made)

    def _smaller(self, place: MediumRef, made: DerivedImage) -> MediaItem:
        resource = made.resource
        source: MediumSource = StoredBytes(resource.resource_id, resource.digest)
        if made.data is not None:
            # An image derived from bytes in a record has no resource to refer to.
            source = InlineBytes(made.data)
        return self._attached(place, source, resource)

    def _attached(
        self, place: MediumRef, source: MediumSource, known: Medium | Resource
    ) -> MediaItem:
        """Return a medium as a message has it, with the known properties of these bytes."""
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

    def _resolve_turn(
        self, turn: ComposedTurn, choices: Sequence[Choice], written: tuple[Node, ...] | None
    ) -> tuple[ResolvedTurn, list[LossEntry]]:
        is_error_text = turn.is_error and not self.profile.has_error_flag
        if written is None and _is_resolved(turn) and not is_error_text:
            return turn, []
        items: list[ResolvedItem] = []
        loss: list[LossEntry] = []
        if is_error_text:
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
            rendered, steps = self._render_item(turn, item, choice, is_written=written is not None)
            items += rendered
            loss += steps
        calls = turn.calls
        if not takes_thoughts(turn.natives, self.options):
            calls = tuple(map(without_signature, calls))
        resolved = replace(cast(Any, turn), items=tuple(items), calls=calls, written=written)
        return cast(ResolvedTurn, resolved), loss

    def _render_item(
        self, turn: ComposedTurn, item: Item, choice: Choice | None, *, is_written: bool
    ) -> tuple[list[ResolvedItem], list[LossEntry]]:
        """Return the items that replace an item, and its loss.

        Args:
            turn: Its turn.
            item: The item.
            choice: The form of the item, if it is a medium.
            is_written: Whether the message is written as it was sent.
        """
        if isinstance(item, TextItem | DataItem):
            return self._with_label(item), []
        if isinstance(item, ProviderBlock):
            rendered, steps = self._block(turn, item)
            return rendered, [] if is_written else steps
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
        """Return a block unchanged for its provider, as text for others."""
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
        """Return an item after a line with its label, unless its block has that."""
        if not isinstance(item, TextItem) or item.label is None:
            return [item]
        is_resource = self.profile.has_resources and item.label.uri is not None
        line = None if is_resource else label_line(item.label, item.text)
        return [item] if line is None else [TextItem(item.pointer, line), item]

    def _is_taken(self, turn: ComposedTurn, item: Omission) -> bool:
        """Return whether the target renders an omitted item all the same."""
        if self.profile.home in item.kept_by:
            return takes_thoughts(turn.natives, self.options)
        if item.code != "stored-apart" or turn.structured is None:
            return False
        return self.profile.takes_structured(turn.structured[0])


def _reading_call(place: MediumRef) -> str:
    """Return the call that reads the whole of a text file, if a model can make one."""
    handle = handle_of(place.medium, place.turn.entry_seq(place.medium.seq))
    return f'read_text("{handle}")' if handle else ""


def _write(run: NativeRun, choices: Sequence[Choice]) -> dict[int, tuple[Node, ...]]:
    """Return the messages of a run by its turns; empty if its media are not all unchanged."""
    stored = stored_media(choices)
    if stored is None or not has_place_for(run, stored):
        for choice in choices:
            choice.heed_obstacle()
        return {}
    further = dict.fromkeys(range(run.start + 1, run.stop), cast("tuple[Node, ...]", ()))
    return {run.start: run.write(stored), **further}


def _is_resolved(turn: ComposedTurn) -> TypeGuard[ResolvedTurn]:
    """Return whether a turn has nothing to resolve; most have only texts."""
    return all(
        item.label is None is item.block
        if isinstance(item, TextItem)
        else isinstance(item, DataItem)
        for item in turn.items
    )

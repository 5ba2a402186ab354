"""The media ladder: the form of each medium of a conversation, for one target.

    original → smaller image → caption, transcript or text → one line

Each of these forms is a *rung*. A medium goes down rung by rung until it fits the target, and until
all media of the conversation fit together. If there are too many media, the oldest go down first.
Each step down is an entry of the loss account, and a text in the conversation tells the model.

Source: design document `providers.md`, degradation ladder.
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
from pagefault_dialects.targets.fitting import (
    LoadedMedia,
    MediaLimits,
    MediumRef,
    Obstacle,
    list_media,
)
from pagefault_dialects.targets.media_lines import (
    ERROR_LINE,
    format_label_line,
)
from pagefault_dialects.targets.medium_forms import (
    MediumForm,
    find_stored_media,
    limit_count,
    limit_size,
    make_loss_entry,
    make_record_request,
)
from pagefault_dialects.targets.native_blocks import TurnBlocks, find_turn_blocks, items_of_block
from pagefault_dialects.targets.native_messages import (
    NativeRange,
    find_media_range,
    find_media_ranges,
    find_native_ranges,
    refers_to_all,
)
from pagefault_dialects.targets.profile import MediaClass, Profile
from pagefault_dialects.targets.thoughts import (
    may_send_thought,
    may_send_thoughts,
    without_signature,
)

_MEDIA_CLASSES: tuple[MediaClass, ...] = ("image", "audio", "video", "document")

Sign = Callable[[str], str]
"""Returns the signed URL of a resource, by its id."""


@dataclass(frozen=True, slots=True)
class ResolvedTurns:
    """Turns with each medium in the form in which it is sent, and the loss account."""

    turns: tuple[ResolvedTurn, ...]
    loss: tuple[LossEntry, ...]
    """The entries of the loss account, in reading order."""
    loss_counts: tuple[int, ...] = field(default=(), compare=False)
    """The number of loss entries of each turn."""
    exceeds_size: bool = field(default=False, compare=False)
    """True if media were replaced because all media together have too much base64. Media that have
    too much alone do not count."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The media ladder of one target and rendering."""

    profile: Profile
    """The target."""
    options: RenderOptions
    """The options of the rendering."""
    _: KW_ONLY
    max_base64: int
    """The most characters of base64 in one rendering."""
    sign: Sign | None
    """Signs URLs of stored media; `None` unless signed URLs are requested."""

    def resolve(self, turns: Sequence[ComposedTurn], loaded: LoadedMedia) -> ResolvedTurns:
        """Return the conversation in the forms that the target accepts.

        Args:
            turns: The conversation.
            loaded: The media that `plan_media` has planned for this conversation.
        """
        refs = list_media(turns)
        limits = MediaLimits(self.profile, self.options, refs)
        obstacles = [limits.find_obstacle(ref) for ref in refs]
        media_ranges = find_media_ranges(turns)
        native_ranges = find_native_ranges(turns, self.profile, self.options, refs, obstacles)
        copied_media = {
            index
            for native_range in native_ranges
            for index in find_media_range(native_range, media_ranges)
        }
        forms = [
            self._choose_form(
                ref, obstacle, loaded, limits.find_wav(ref), is_copied=ref.index in copied_media
            )
            for ref, obstacle in zip(refs, obstacles, strict=True)
        ]
        for kind in _MEDIA_CLASSES:
            limit_count(forms, kind, limits.find_max_media(kind))
        exceeds_size = limit_size(forms, self.max_base64)
        copied: dict[int, tuple[Node, ...]] = {}
        for native_range in native_ranges:
            native_forms = [forms[index] for index in find_media_range(native_range, media_ranges)]
            copied |= _copy_messages(native_range, native_forms)
        resolved = [
            self._resolve_turn(turn, [forms[index] for index in media], copied.get(turn_index))
            for turn_index, (turn, media) in enumerate(zip(turns, media_ranges, strict=True))
        ]
        return ResolvedTurns(
            tuple(turn for turn, _ in resolved),
            tuple(entry for _, entries in resolved for entry in entries),
            tuple(len(entries) for _, entries in resolved),
            exceeds_size,
        )

    def _choose_form(
        self,
        ref: MediumRef,
        obstacle: Obstacle | None,
        loaded: LoadedMedia,
        wav: WavFile | None,
        *,
        is_copied: bool,
    ) -> MediumForm:
        """Return the form of a medium within the limits for one medium.

        Limits for all media together are applied later.

        Args:
            ref: The medium.
            obstacle: Why it cannot be sent unchanged; `None` if it can.
            loaded: The loaded media.
            wav: The WAV file to attach instead, for samples without a header.
            is_copied: True if its message is copied as it was sent, unless its media prevent that.
        """
        medium = ref.medium
        if wav is not None and not is_copied and (attachment := self._attach_wav(ref, loaded, wav)):
            # Adding the header does not change the sound, so this is still the original.
            return MediumForm(ref, attachment)
        text = loaded.texts.get(ref.index) if medium.words is None else None
        excerpt = None if text is None else text.abridge(_make_reading_call(ref))
        derived = loaded.images.get(ref.index)
        form = MediumForm(
            ref,
            self._attach(ref, medium.source, medium),
            smaller=None if derived is None else self._attach_derived(ref, derived),
            words=AlternativeText("text", excerpt) if excerpt else medium.words,
            text=text,
            is_first_picture=derived is not None and derived.is_first_picture,
        )
        if obstacle is not None:
            form.ignored_obstacle = loaded.add_refusal(ref, obstacle)
            if not is_copied:
                form.apply_obstacle()
        return form

    def _attach_wav(self, ref: MediumRef, loaded: LoadedMedia, wav: WavFile) -> MediaItem | None:
        medium = ref.medium
        if isinstance(medium.source, InlineBytes):
            properties = replace(medium, mime_type=WAV_TYPE, size_bytes=wav.size_bytes)
            return self._attach(ref, InlineBytes(wav.write(medium.source.data)), properties)
        derived = loaded.wavs.get(ref.index)
        return None if derived is None else self._attach_derived(ref, derived)

    def _attach_derived(self, ref: MediumRef, derived: DerivedImage) -> MediaItem:
        resource = derived.resource
        source: MediumSource = StoredBytes(resource.resource_id, resource.digest)
        if derived.data is not None:
            # An image derived from bytes in a record has no resource to refer to.
            source = InlineBytes(derived.data)
        return self._attach(ref, source, resource)

    def _attach(
        self, ref: MediumRef, source: MediumSource, properties: Medium | Resource
    ) -> MediaItem:
        """Return a medium as an attachment.

        Args:
            ref: The medium.
            source: The bytes to attach.
            properties: Has the type, the size and the hints of these bytes.
        """
        medium = ref.medium
        address: str | None = None
        is_reference = False
        if isinstance(source, Address):
            address = source.url
        elif isinstance(source, StoredBytes) and self.options.media == "reference":
            address, is_reference = f"@blob:{source.resource_id}", True
        elif isinstance(source, StoredBytes) and self.sign is not None:
            url = self.sign(source.resource_id)
            is_loaded = self.profile.accepts_url(url, medium.kind, ref.turn.role)
            address = url if is_loaded else None
        size_bytes = properties.size_bytes or 0
        return MediaItem(
            medium,
            source,
            medium.kind,
            properties.mime_type,
            size_bytes,
            properties.hints,
            address=address,
            is_reference=is_reference,
            detail=self.profile.fit_detail(self.options.detail or medium.detail),
        )

    def _resolve_turn(
        self,
        turn: ComposedTurn,
        forms: Sequence[MediumForm],
        copied_messages: tuple[Node, ...] | None,
    ) -> tuple[ResolvedTurn, list[LossEntry]]:
        """Return a turn with its media resolved, and its loss.

        Args:
            turn: The turn.
            forms: The forms of its media, in order.
            copied_messages: The messages of the turn as they were sent; `None` if the target writes
                the items of the turn.
        """
        needs_error_line = turn.is_error and not self.profile.has_error_flag
        if copied_messages is None and _is_resolved(turn) and not needs_error_line:
            return turn, []
        items: list[ResolvedItem] = []
        loss: list[LossEntry] = []
        if needs_error_line:
            items.append(TextItem("", ERROR_LINE))
        next_forms = iter(forms)
        blocks = TurnBlocks(turn)
        if copied_messages is None:
            blocks = find_turn_blocks(turn, forms, self.profile, self.options)
        for item in turn.items:
            loss += blocks.take_loss(item)
            form = next(next_forms) if isinstance(item, Medium) else None
            if (block := blocks.find_block(item)) is not None:
                items += items_of_block(block, item, form)
                continue
            rendered, steps = self._render_item(
                turn, item, form, is_copied=copied_messages is not None
            )
            items += rendered
            loss += steps
        calls = turn.calls
        if not may_send_thoughts(turn.native_messages, self.options):
            calls = tuple(map(without_signature, calls))
        resolved = replace(
            cast(Any, turn), items=tuple(items), calls=calls, copied_messages=copied_messages
        )
        return cast(ResolvedTurn, resolved), loss

    def _render_item(
        self, turn: ComposedTurn, item: Item, form: MediumForm | None, *, is_copied: bool
    ) -> tuple[list[ResolvedItem], list[LossEntry]]:
        """Return the items that replace an item, and its loss.

        Args:
            turn: The turn of the item.
            item: The item.
            form: The form of the item, if it is a medium.
            is_copied: True if the message of the turn is copied as it was sent.
        """
        if isinstance(item, TextItem | DataItem):
            return self._with_label(item), []
        if isinstance(item, ProviderBlock):
            rendered, steps = self._render_block(turn, item)
            return rendered, [] if is_copied else steps
        if isinstance(item, SyntheticNote):
            restore = f"GET {turn.origin}"
            return [], [make_loss_entry(item, "", "nothing", item.what, restore, item.seq)]
        if isinstance(item, Omission):
            if is_copied or self._is_rendered_elsewhere(turn, item):
                return [], []
            restore = item.restore or make_record_request(turn, item)
            seq = item.seq or turn.seq
            return [], [make_loss_entry(item, item.pointer, item.what, item.to, restore, seq)]
        return ([], []) if form is None else (form.render_items(), form.steps)

    def _render_block(
        self, turn: ComposedTurn, block: ProviderBlock
    ) -> tuple[list[ResolvedItem], list[LossEntry]]:
        """Return a block unchanged for its provider, and as text for other providers."""
        may_be_sent = block.code != "reasoning" or may_send_thought(block.model, self.options)
        if self.profile.accepts_provider_block(block, turn.role) and may_be_sent:
            native_form = {self.profile.dialect: block.forms[self.profile.dialect]}
            return [replace(block, forms=native_form)], []
        if is_cache_mark(block):
            return [], []
        words: list[ResolvedItem] = [TextItem(block.pointer, block.words)] if block.words else []
        to = "text" if words else "nothing"
        restore, seq = make_record_request(turn, block), block.seq or turn.seq
        return words, [make_loss_entry(block, block.pointer, block.what, to, restore, seq)]

    def _with_label(self, item: TextItem | DataItem) -> list[ResolvedItem]:
        """Return an item, with a line before it that has its name and URL, if it has any.

        The line is omitted if a block of the target can have the URL itself.
        """
        if not isinstance(item, TextItem) or item.label is None:
            return [item]
        is_resource = self.profile.has_resources and item.label.uri is not None
        line = None if is_resource else format_label_line(item.label, item.text)
        return [item] if line is None else [TextItem(item.pointer, line), item]

    def _is_rendered_elsewhere(self, turn: ComposedTurn, item: Omission) -> bool:
        """Return whether the target renders an omitted value in another member of the message."""
        if self.profile.dialect in item.kept_by:
            return may_send_thoughts(turn.native_messages, self.options)
        if item.code != "stored-apart" or turn.structured is None:
            return False
        return self.profile.accepts_structured(turn.structured[0])


def _make_reading_call(ref: MediumRef) -> str:
    """Return the text of the call that reads a whole text file; empty if the file is not stored."""
    handle = handle_of(ref.medium, ref.turn.entry_seq(ref.medium.seq))
    return f'read_text("{handle}")' if handle else ""


def _copy_messages(
    native_range: NativeRange, forms: Sequence[MediumForm]
) -> dict[int, tuple[Node, ...]]:
    """Return the messages of a range of turns as they were sent, by the indexes of the turns.

    The first turn has all messages, and the other turns have none. If any medium of the range is
    not sent in its original form, the messages are not copied: the result is empty, and the
    obstacles of its media, which were ignored so far, are applied.
    """
    stored = find_stored_media(forms)
    if stored is None or not refers_to_all(native_range, stored):
        for form in forms:
            form.apply_obstacle()
        return {}
    others = dict.fromkeys(
        range(native_range.start + 1, native_range.stop), cast("tuple[Node, ...]", ())
    )
    return {native_range.start: native_range.copy_messages(stored), **others}


def _is_resolved(turn: ComposedTurn) -> TypeGuard[ResolvedTurn]:
    """Return whether a turn has only texts and values without labels, so nothing to resolve."""
    return all(
        item.label is None and item.block is None
        if isinstance(item, TextItem)
        else isinstance(item, DataItem)
        for item in turn.items
    )

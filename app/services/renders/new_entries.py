"""Renders the entries of a session after a `seq`, without reading the entries before it.

Facts about the beginning of the session are cached (`prefix_cache.py`), so that it is not read
again. If something in the beginning may have changed, the whole session is rendered. Both ways
return the same bytes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

from app.models.identity import utc_now
from app.models.message import StoredEntry
from app.services.renders.loaded_sessions import (
    LoadedSession,
    find_referenced_ids,
    result_records,
)
from app.services.renders.prefix_cache import PrefixCache, RenderingKey, SessionKey
from app.services.renders.session_entries import (
    WholeSessionNeededError,
    find_batch_end,
    read_entries,
)
from app.services.renders.structured_contents import (
    MAX_STRUCTURED_BYTES,
    read_structured_contents,
    stored_content_sizes,
)
from app.services.renders.turn_cache import TurnCache
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.validation import require_found
from app.stores.blobs.store import BlobStore
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPromptRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.render_options import Rendering, RenderOptions
from pagefault_dialects.model.resource import LINK_TYPE, Resource
from pagefault_dialects.rendered_documents import build_session_document, write_prefix
from pagefault_dialects.rendered_prefixes import RenderedPrefix, find_link_damages
from pagefault_dialects.targets.base64_leaves import json_pieces
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.turns.call_results import PrefixChangedError
from pagefault_dialects.turns.pairing import Pairing
from pagefault_dialects.turns.sealed_turns import seal_turns


@dataclass(frozen=True, slots=True)
class _Request:
    """A request to render the entries of a session after a `seq`."""

    project_id: str
    session_id: str
    profile: Profile
    options: RenderOptions
    since: int
    """The `seq` of the last entry that is not rendered."""

    @property
    def rendering_key(self) -> RenderingKey:
        """The key of the prefixes in the cache."""
        return f"{self.profile.target}/{self.profile.version}", self.options


@dataclass(frozen=True, slots=True)
class _Batch:
    """Consecutive entries of a session after a cached prefix.

    The entries extend the prefix. The last batch has the entries to render.
    """

    key: SessionKey
    """The key of the session in the cache of prefixes."""
    prefix: RenderedPrefix | None
    """The prefix; `None` if the batch begins with the first entry of the session."""
    entries: Sequence[StoredEntry]
    """The entries after the prefix."""
    resources: Mapping[str, Resource | None]
    """The resources that the entries refer to, by id; `None` for a resource that is missing."""
    last_seq: int
    """The `seq` of the newest entry of the session."""
    _: KW_ONLY
    is_last: bool
    """True if the batch ends with the newest entry of the session."""


@dataclass(frozen=True, slots=True, eq=False)
class NewEntries:
    """Renders the newest entries of sessions."""

    records: Records
    """Reads sessions."""
    blobs: BlobStore
    """Reads structured contents."""
    resolver: TurnResolver
    """Resolves turns for a target."""
    turn_cache: TurnCache
    """Caches entries and their turns."""
    stride: int = 32
    """Prefixes end at multiples of this number of entries.

    A prefix is extended if `since` is more than twice as many entries behind its end.
    """
    prefixes: PrefixCache[RenderedPrefix] = field(default_factory=PrefixCache)
    """Caches the facts of prefixes."""

    async def render(
        self, project_id: str, session_id: str, profile: Profile, options: RenderOptions, since: int
    ) -> Rendering | None:
        """Render the entries after `since`.

        Args:
            project_id: The caller's project.
            session_id: The session.
            profile: The profile of the target.
            options: The options of the rendering.
            since: The `seq` of the last entry that the caller has rendered before.

        Returns:
            The rendering; `None` if the whole session has to be read.

        Raises:
            Exception: See `Renders.render_record`.
        """
        if not options.is_local:
            return None
        request = _Request(project_id, session_id, profile, options, since)
        try:
            batch = await self._read_batch(request)
            try:
                while not batch.is_last:
                    extended = await self._extend_prefix(request, batch)
                    if extended is not None:
                        self.prefixes.put(batch.key, request.rendering_key, extended)
                    batch = await self._read_batch(request, reads_rest=extended is None)
                    if extended is not None and (
                        not batch.prefix or batch.prefix.seq < extended.seq
                    ):
                        # The extended prefix was evicted from the cache, or is too large for it.
                        raise WholeSessionNeededError
                return await self._render_after_prefix(request, batch)
            except PrefixChangedError:
                # A result in the prefix was stored before its call. The prefix is computed again,
                # with both of them.
                self.prefixes.remove(batch.key)
        except WholeSessionNeededError:
            pass
        return None

    async def _read_batch(self, request: _Request, *, reads_rest: bool = False) -> _Batch:
        """Read the entries after the longest cached prefix. Remove prefixes that are out of date.

        Args:
            request: The rendering.
            reads_rest: True to read all entries up to the end of the session.
        """
        read = partial(self._read_in_unit, request=request, reads_rest=reads_rest)
        while True:
            batch = await self.records.read_snapshot(request.project_id, read)
            if batch.prefix is None or await self._is_unchanged(request, batch.prefix):
                return batch
            self.prefixes.remove(batch.key)

    def _read_in_unit(self, unit: UnitOfWork, request: _Request, *, reads_rest: bool) -> _Batch:
        """Read a batch in a snapshot of the records; see `_read_batch`.

        Raises:
            WholeSessionNeededError: The session cannot be cached, or has link files.
        """
        session_id, since = request.session_id, request.since
        head = require_found(unit[SessionHistory].find_head(session_id), "session")
        if head.incarnation is None:
            # A session of an older version has no incarnation, which would distinguish it from a
            # later session of the same name.
            raise WholeSessionNeededError
        prompt = unit[SessionPromptRecords].find(session_id)
        key = SessionKey(
            request.project_id,
            session_id,
            head.incarnation,
            request.options.audience,
            prompt.prompt if prompt else None,
        )
        prefix = self.prefixes.find(key, request.rendering_key, up_to=since)
        after_seq = prefix.seq if prefix else 0
        is_last = reads_rest or since - after_seq <= 2 * self.stride
        to_seq = head.last_seq
        if not is_last:
            # Prefixes end at multiples of the stride, so that other requests can use them.
            max_seq = since // self.stride * self.stride
            to_seq = find_batch_end(unit, session_id, after_seq=after_seq, to_seq=max_seq)
        entries = read_entries(
            unit,
            session_id,
            head,
            self.turn_cache,
            after_seq=after_seq,
            to_seq=to_seq,
            since=since,
        )
        prefix_resources = prefix.resources if prefix else {}
        resource_ids = find_referenced_ids(entries, self.turn_cache)
        stored = unit[ResourceRecords].find_in_session(
            resource_ids | prefix_resources.keys(), session_id
        )
        if any(resource.mime_type == LINK_TYPE for resource in stored.values()):
            raise WholeSessionNeededError
        if any(
            stored.get(resource_id) != resource
            for resource_id, resource in prefix_resources.items()
        ):
            # A resource of the prefix was deleted or added, so the prefix is out of date.
            self.prefixes.remove(key)
            return self._read_in_unit(unit, request, reads_rest=reads_rest)
        resources = {resource_id: stored.get(resource_id) for resource_id in resource_ids}
        return _Batch(key, prefix, entries, resources, head.last_seq, is_last=is_last)

    async def _is_unchanged(self, request: _Request, prefix: RenderedPrefix) -> bool:
        """Return True if a prefix has all its structured contents, and no link in it has expired.

        A link that had expired before the prefix was computed does not count.
        """
        digests = prefix.structured_sizes.keys()
        sizes = await self._read_content_sizes(request.project_id, digests) if digests else {}
        return sizes == prefix.structured_sizes and prefix.has_unchanged_links(utc_now())

    async def _extend_prefix(self, request: _Request, batch: _Batch) -> RenderedPrefix | None:
        """Extend the prefix by those entries of a batch that later entries cannot change.

        Returns:
            The longer prefix; `None` if later entries may change the first entry of the batch.
        """
        profile, prefix = request.profile, batch.prefix
        loaded = await self._load_contents(request, batch)
        options = loaded.with_model(request.options)
        audience, state = options.audience, prefix.pairing_state if prefix else None
        sealed = await self.resolver.run(
            lambda: seal_turns(
                loaded.read_unpaired_turns(audience), loaded.find_unjoined(audience), state
            )
        )
        if sealed is None:
            return None
        resolved, size = await self.resolver.resolve_part(
            request.project_id, sealed.turns, profile, options, is_first=prefix is None
        )
        written = await self.resolver.run(
            lambda: write_prefix(resolved, profile, options, prefix.written if prefix else None)
        )
        entries = [entry for entry in batch.entries if entry.seq < sealed.next_seq]
        digests = stored_content_sizes(result_records(entries)).keys()
        extension = RenderedPrefix(
            entries[-1].seq,
            sealed.pairing_state,
            written,
            size,
            {
                resource_id: batch.resources[resource_id]
                for resource_id in find_referenced_ids(entries, self.turn_cache)
            },
            await self._read_content_sizes(request.project_id, digests) if digests else {},
            find_link_damages(size, utc_now()),
        )
        return extension.prepend(prefix) if prefix else extension

    async def _render_after_prefix(self, request: _Request, batch: _Batch) -> Rendering:
        """Render the entries after the prefix.

        Raises:
            WholeSessionNeededError: The media of the session do not fit into one rendering, so
                those of the prefix have to be reduced too.
        """
        profile, prefix = request.profile, batch.prefix
        loaded = await self._load_contents(request, batch)
        options = loaded.with_model(request.options)

        def pair() -> Sequence[ComposedTurn]:
            pairing = Pairing((), prefix.pairing_state if prefix else None)
            for turn in loaded.read_unpaired_turns(options.audience):
                pairing.add(turn)
            return pairing.take_turns()

        turns = await self.resolver.run(pair)
        resolved, size = await self.resolver.resolve_part(
            request.project_id, turns, profile, options, is_first=prefix is None
        )
        whole_size = prefix.size + size if prefix else size
        if not self.resolver.has_room(whole_size, profile, options):
            raise WholeSessionNeededError

        def write() -> Rendering:
            document = build_session_document(
                resolved,
                profile,
                options,
                last_seq=batch.last_seq,
                since=request.since,
                prefix=prefix.written if prefix else None,
            )
            return json_pieces(document.document)

        return await self.resolver.run(write)

    async def _load_contents(self, request: _Request, batch: _Batch) -> LoadedSession:
        """Load the structured contents of the entries of a batch.

        Raises:
            WholeSessionNeededError: The structured contents are too large. Which of them are left
                out depends on all entries.
        """
        prefix = batch.prefix
        results = result_records(batch.entries)
        sizes = stored_content_sizes(results)
        all_sizes = {**prefix.structured_sizes, **sizes} if prefix else sizes
        if sum(all_sizes.values()) > MAX_STRUCTURED_BYTES:
            raise WholeSessionNeededError
        contents = (
            await read_structured_contents(self.blobs, request.project_id, results) if sizes else {}
        )
        resources = {
            resource_id: resource
            for resource_id, resource in batch.resources.items()
            if resource is not None
        }
        return LoadedSession(
            request.session_id,
            batch.entries,
            resources,
            contents,
            self.turn_cache,
            batch.last_seq,
            batch.key.prompt,
            is_beginning=prefix is None,
        )

    async def _read_content_sizes(
        self, project_id: str, digests: Collection[str]
    ) -> Mapping[str, int]:
        """Return the sizes of structured contents by digest, 0 for those that are missing."""
        sizes = await self.blobs.sizes(project_id, digests)
        return {digest: sizes.get(digest, 0) for digest in digests}

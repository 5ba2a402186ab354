"""Smaller images that were made of stored ones, so that each is made once.

A row says what was made of the bytes of a source by a recipe, or that nothing can be. What is made
is a resource of its own, with its blob and without links, and marked as derived until somebody
stores or refers to the same file. It goes when its source goes:

    resources    source ──── same digest ──── derived_images ── resource_id ──> resources  derived
                 last one is removed: remove_sourceless removes both

Whoever notes an image and whoever removes a source take a lock of the project first. So neither
misses the other, and all resources that are removed can be locked in the order of their ids.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.stores.records.resources import ResourceRecords, stored_resource
from app.stores.records.scope import in_batches
from app.stores.records.tables import derived_images, resource_links, resources
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.model.resource import DerivedImage, Resource

_LOCK = 7_224_014


@dataclass(frozen=True, slots=True)
class NotedImage:
    """The image that is noted for a source and a recipe; `None` where none can be made."""

    image: DerivedImage | None


class DerivedImageRecords(Repository):
    """The derived images of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._resources = unit[ResourceRecords]

    def lock(self) -> None:
        """Keep others from noting images and from removing sources until the transaction ends.

        To be called before rows of `resources` are locked.
        """
        self._scope.lock(_LOCK, shared=False)

    def find(self, source_digest: str, recipe_key: str) -> NotedImage | None:
        """Return what was noted; `None` if nothing was."""
        noted = derived_images.c
        is_made = noted.resource_id.is_not(None).label("is_made")
        statement = self._scope.select(
            derived_images,
            noted.source_digest == source_digest,
            noted.recipe == recipe_key,
            columns=[is_made, noted.is_first_picture, *resources.c],
        )
        row = self._scope.first(statement.outerjoin_from(derived_images, resources))
        if row is None:
            return None
        if not row.is_made:
            return NotedImage(None)
        return NotedImage(DerivedImage(stored_resource(row), row.is_first_picture))

    def has_source(self, source_digest: str) -> bool:
        """Return whether something with these bytes is stored that was not derived itself."""
        return bool(self._with_source([source_digest]))

    def note(
        self, source_digest: str, recipe_key: str, image: DerivedImage | None, *, now: datetime
    ) -> None:
        """Note what was made, and store its descriptor; the caller holds the lock.

        It has made sure that nothing is noted yet and that there is a source.

        Raises:
            BlobSweptError: A sweep has removed the blob of the image meanwhile.
        """
        if image is not None:
            self._resources.ensure_derived(image.resource)
        row = {
            "source_digest": source_digest,
            "recipe": recipe_key,
            "resource_id": image.resource.resource_id if image else None,
            "is_first_picture": image is not None and image.is_first_picture,
            "created_at": now,
        }
        self._scope.insert_new(derived_images, [row])

    def hold_sources(self, sources: Collection[Resource]) -> set[str]:
        """Take the lock, and hold resources that may be removed with all that was derived of them.

        In the order of their ids, as every writer locks them. Whoever links one meanwhile waits.

        Returns:
            The ids of those that are there.
        """
        self.lock()
        wanted = {source.resource_id for source in sources}
        wanted |= self._made_of({source.digest for source in sources})
        identity = resources.c.resource_id
        ordered = self._scope.select(resources, columns=[identity]).order_by(identity)
        held = self._scope.rows_with(identity, wanted, ordered.with_for_update())
        return {row.resource_id for row in held}

    def remove_sourceless(self, digests: Collection[str]) -> None:
        """Remove what was derived from sources that are gone; the blobs stay, as garbage.

        Derived resources that something refers to, or that somebody has stored too, stay. The
        caller has called `hold_sources` before it removed the sources.
        """
        for batch in in_batches(digests):
            gone = set(batch) - self._with_source(batch)
            made = self._made_of(gone)
            self._scope.remove(derived_images, derived_images.c.source_digest.in_(gone))
            self._remove_unused(made)

    def _remove_unused(self, resource_ids: Collection[str]) -> None:
        for batch in in_batches(resource_ids):
            identity = resources.c.resource_id
            is_unused = (
                identity.not_in(self._scope.select(each.table, each.in_(batch), columns=[each]))
                for each in (resource_links.c.resource_id, derived_images.c.resource_id)
            )
            self._scope.remove(resources, identity.in_(batch), resources.c.is_derived, *is_unused)

    def _made_of(self, digests: Collection[str]) -> set[str]:
        made, source = derived_images.c.resource_id, derived_images.c.source_digest
        found: set[str] = set()
        for batch in in_batches(digests):
            found |= self._scope.column(made, source.in_(batch), made.is_not(None))
        return found

    def _with_source(self, digests: Sequence[str]) -> set[str]:
        """Return those of the digests that something stored has which was not derived itself."""
        digest = resources.c.digest
        return self._scope.column(digest, digest.in_(digests), resources.c.is_derived.is_(False))

"""Smaller images that were made from stored images, so that each is made only once.

A *recipe* is the format and maximum size of a smaller image. A row has the outcome of a recipe for
the bytes of a source: the image, or null if the source cannot be decoded. The image is itself a
resource, with a blob and without links. It is marked as derived until a client stores or links the
same file. It is removed with its source:

    resources    source ──── same digest ──── derived_images ── resource_id ──> resources  derived
                 if the last source is removed, `remove_sourceless` removes both rows

A transaction that adds an image or removes a source acquires a lock of the project first. So it
sees all images and sources, and can lock the resources in the order of their ids.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.stores.records.resources import ResourceRecords, stored_resource
from app.stores.records.scope import in_batches
from app.stores.records.statements import is_among, scoped_delete, scoped_select
from app.stores.records.tables import derived_images, resource_links, resources
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.model.resource import DerivedImage, Resource

_LOCK = 7_224_014
_FIND = scoped_select(
    derived_images,
    derived_images.c.resource_id.is_not(None).label("is_made"),
    derived_images.c.is_first_picture,
    *resources.c,
    by=["source_digest", "recipe"],
).outerjoin_from(derived_images, resources)
_LOCK_RESOURCES = (
    scoped_select(resources, resources.c.resource_id)
    .where(is_among(resources.c.resource_id, "values"))
    .order_by(resources.c.resource_id)
    .with_for_update()
)
_MADE_OF = scoped_select(derived_images, derived_images.c.resource_id).where(
    is_among(derived_images.c.source_digest, "values"), derived_images.c.resource_id.is_not(None)
)
_SOURCES = scoped_select(resources, resources.c.digest).where(
    is_among(resources.c.digest, "values"), resources.c.is_derived.is_(False)
)
_REMOVE = scoped_delete(derived_images).where(is_among(derived_images.c.source_digest, "values"))
_REMOVE_UNUSED = scoped_delete(resources).where(
    is_among(resources.c.resource_id, "values"),
    resources.c.is_derived,
    *(
        resources.c.resource_id.not_in(
            scoped_select(item.table, item).where(is_among(item, "values"))
        )
        for item in (resource_links.c.resource_id, derived_images.c.resource_id)
    ),
)


@dataclass(frozen=True, slots=True)
class ImageOutcome:
    """The stored outcome of a recipe. The image is `None` if the source cannot be decoded."""

    image: DerivedImage | None


class DerivedImageRecords(Repository):
    """The derived images of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._resources = unit[ResourceRecords]

    def lock(self) -> None:
        """Lock the images and sources of the project against changes until the transaction ends.

        Callers that also lock rows of `resources` call this first.
        """
        self._scope.lock(_LOCK, shared=False)

    def find(self, source_digest: str, recipe_key: str) -> ImageOutcome | None:
        """Return the stored outcome for a source and a recipe; `None` if there is none yet."""
        row = self._scope.first(_FIND, source_digest=source_digest, recipe=recipe_key)
        if row is None:
            return None
        if not row.is_made:
            return ImageOutcome(None)
        return ImageOutcome(DerivedImage(stored_resource(row), row.is_first_picture))

    def has_source(self, source_digest: str) -> bool:
        """Return whether there is a resource with these bytes that is not itself derived."""
        return bool(self._find_sources([source_digest]))

    def note(
        self, source_digest: str, recipe_key: str, image: DerivedImage | None, *, now: datetime
    ) -> None:
        """Store the outcome of a recipe for a source.

        The caller has acquired the lock, and checked that there is a source and no outcome yet.

        Raises:
            BlobSweptError: A sweep has removed the blob of the image.
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

    def lock_sources(self, sources: Collection[Resource]) -> set[str]:
        """Acquire the lock, and lock the rows of resources and of images derived from them.

        The rows are locked in the order of their ids. Transactions that link one of them wait.

        Returns:
            The ids of the rows that exist.
        """
        self.lock()
        resource_ids = {source.resource_id for source in sources}
        resource_ids |= self._find_derived({source.digest for source in sources})
        return {
            row.resource_id for row in self._scope.rows_in_batches(_LOCK_RESOURCES, resource_ids)
        }

    def remove_sourceless(self, digests: Collection[str]) -> None:
        """Remove the images whose sources were removed. A sweep removes their blobs later.

        Images that have links, or were also stored as files, stay. The caller has called
        `lock_sources` before it removed the sources.
        """
        for batch in in_batches(digests):
            sourceless = set(batch) - self._find_sources(batch)
            made = self._find_derived(sourceless)
            self._scope.run(_REMOVE, values=[*sourceless])
            for unused in in_batches(made):
                self._scope.run(_REMOVE_UNUSED, values=unused)

    def _find_derived(self, digests: Collection[str]) -> set[str]:
        return {row.resource_id for row in self._scope.rows_in_batches(_MADE_OF, digests)}

    def _find_sources(self, digests: Sequence[str]) -> set[str]:
        """Return the digests for which there is a resource that is not itself derived."""
        return {row.digest for row in self._scope.rows_in_batches(_SOURCES, digests)}

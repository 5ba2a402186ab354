"""Services of the feature search: everything that is stored, found by its words."""

from app.services.search.indexing import SearchIndexing
from app.services.search.search import Search
from app.stores.records.records import Records
from app.wiring.services import Provider

SERVICES = (
    Provider(
        SearchIndexing,
        lambda services: SearchIndexing(services[Records]),
        running=lambda services: services[SearchIndexing].running(),
    ),
    Provider(Search, lambda services: Search(services[Records], services[SearchIndexing])),
)

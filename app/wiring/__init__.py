"""Opens stores, and creates the services over them.

services            creates services by their types
shared_services     services that several features use; each feature has its own `…_services`
open_stores         both stores, for the service
stores              database, blobs and broker alone
brokers             wake event streams when another process has written
ingest              tool results, for the command `ingest`
listening           event streams, for the command `tail`
open_sweep          the sweep, for the command `gc`
page_reading        pages, for the command `page show`
signing_keys        the keys of links and tickets
startup_errors      errors that keep the service from opening
"""

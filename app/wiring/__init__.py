"""Open the stores, and create the services that use them.

services            the container of services, which creates each service by its type
shared_services     services that several features use
ingest_services     services that `pagefault ingest` needs too
event_services, maintenance_services, feature_services
                    services that only the server needs
open_stores         open both stores of a server, with the keys that sign links and tickets
stores              open the database, the blob store or the broker alone
store_status        read the state of the stores for `pagefault status`
bucket_urls         parse the settings of a bucket
brokers             wake event streams when another process has written
tracing             metrics and stores that record spans, if traces are exported
startup_errors      errors that keep the service from starting
"""

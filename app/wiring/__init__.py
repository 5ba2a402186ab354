"""Opens stores, and creates the services over them.

services            creates services by their types
shared_services     services that several features use
media_services      those for media, which not every command loads
…_services          services of a feature that commands open too; `feature_services` has all others
open_stores         both stores, for the service, and the keys of links and tickets
stores              database, blobs and broker alone
brokers             wake event streams when another process has written
tracing             metrics and stores that record spans, if traces are exported
startup_errors      errors that keep the service from opening
"""

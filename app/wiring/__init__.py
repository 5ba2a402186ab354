"""Opens everything that has a lifetime, and hands the services their collaborators.

services            what makes services, by their type
shared_services     what several features use, and `media_services` what they do with media; the
                    services of each are in `…_services`
open_stores         both stores, for the service
stores              database, blobs and broker alone
brokers             what wakes those who listen, when another process has written
ingest              what takes tool results in, for the command that does
listening           what tells of events, for the command that shows them
sweep               what sweeps the stores, for the command that does
page_reading        what reads pages, for the command that shows one
signing_keys        the keys of links and tickets
startup_errors      what keeps the service from opening
"""

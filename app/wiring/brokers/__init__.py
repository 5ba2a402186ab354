"""Brokers: notify a process of events that other processes have written.

Both extend `app.services.events.broker.EventBroker`. They carry no events, which are read from the
log.

notifications   several processes over one server: they notify each other
    postgres    by LISTEN and NOTIFY
    redis       by SUBSCRIBE and PUBLISH
sqlite          several processes over one file: polls its change counter
"""

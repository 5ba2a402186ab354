"""Brokers: notify a process of events that other processes have written.

Both extend `app.services.events.broker.EventBroker`. They carry no events, which are read from the
log.

postgres    several processes over one server: LISTEN, and the NOTIFY of the log
sqlite      several processes over one file: polls its change counter
"""

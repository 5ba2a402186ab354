"""Brokers: how a process learns that another one has written events.

Both extend `app.services.events.broker.EventBroker`; what the events are, only the log says.

postgres    several processes over one server: LISTEN, and the log's own NOTIFY
sqlite      several processes over one file: a look at its change counter
"""

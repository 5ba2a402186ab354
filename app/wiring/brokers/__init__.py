"""Brokers, which wake a process when another process has written events.

Both brokers extend `app.services.events.broker.EventBroker`. They transport no events; each process
reads events from the log in the database.

notifications   for a database on a server: the processes notify each other over a channel
    postgres    the channel of LISTEN and NOTIFY
    redis       the channel of SUBSCRIBE and PUBLISH
sqlite          for an embedded database: each process polls the change counter of the file
"""

"""Streams of events: from the log to every subscriber, once each and in order.

broker          what wakes the feeds
streams         opens streams, watches over them, ends them
stream          what one listener gets, and where it begins: at a position, or with a reset
feeds           one reader of the log per project, for all who listen
subscriptions   the bounded queue of one who listens, and what all queues may hold
"""

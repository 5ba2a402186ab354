"""Streams of events: from the log to every subscriber, once each and in order.

broker          wakes the feeds after writes
streams         opens, checks and ends streams
stream          the events of one listener, from a position on or from a reset on
feeds           one reader of the log for each project, for all of its listeners
subscriptions   the bounded queue of one listener, and the memory of all queues
"""

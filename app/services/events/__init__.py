"""Streams of events: each listener receives each event of the log once, and in order.

broker          wakes the feeds after writes
feeds           one reader of the log for each project, for all listeners of the project
subscriptions   the bounded queue of one listener, and the memory of all queues
stream          the events of one listener, first from the log, then from its queue
streams         opens, checks and ends streams
raw_results     raw results of tools, for listeners in debug mode
"""

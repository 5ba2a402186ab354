"""Streams of events: from the log to every subscriber, once each and in order.

broker            the contract of what wakes the feeds
streams           opens streams, watches over them, ends them
stream            what one listener gets
start_positions   where a stream begins: a position, or a reset
feeds             one reader of the log per project, for all who listen
batches           what is handed to all who listen to the same
subscriptions     the bounded queue of one who listens
queue_memory      what all queues may hold
stream_counts     how many streams there are, and how they end
raw_results       what tools returned, for debugging, never stored
"""

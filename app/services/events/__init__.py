"""Events on their way out: from the log to every subscriber, once each and in order.

streams         opens streams, watches over them, ends them
stream          what one listener gets
starts          where a stream begins: a position, or a reset
feeds           one reader of the log per project, for all who listen
delivery        what is handed to all who listen to the same
subscriptions   the bounded queue of one who listens
stream_counts   how many streams there are, and how they end
raw_results     what tools returned, for debugging, never stored
"""

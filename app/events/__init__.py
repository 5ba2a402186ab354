"""How a process learns that there may be new events; what they are, only the log says.

broker      what every way has to keep
memory      one process alone
postgres    several processes over one server: LISTEN, and the log's own NOTIFY
sqlite      several processes over one file: a look at its change counter
"""

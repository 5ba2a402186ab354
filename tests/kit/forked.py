"""A program that stands for a fork of `tests.kit.preloaded`, to whoever can only start programs.

    python -IS forked.py ADDRESS PROGRAM [ARGUMENT…]

It lends the fork its standard streams, environment and folder, passes SIGTERM and SIGINT on to it,
and ends as it ended. Should this be killed, the fork is killed too.
"""

import marshal
import os
import signal
import socket
import sys

_STATUS_BYTES = 16


def _main(address: str, program: str, *arguments: str) -> int:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
        asked.connect(address)
        said = marshal.dumps((program, arguments, dict(os.environ), os.getcwd()))
        socket.send_fds(asked, [said], [0, 1, 2])
        fork = int(asked.recv(_STATUS_BYTES))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda passed, _: os.kill(fork, passed))
        # Its end of the streams is to be the only one.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        return int(asked.recv(_STATUS_BYTES) or -signal.SIGKILL)


status = _main(*sys.argv[1:])
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)

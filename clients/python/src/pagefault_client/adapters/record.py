"""Recorders, with which frameworks load and save the messages of an agent.

`PagefaultSession`, `PagefaultChatMessageHistory` and `PagefaultMessageHistory` are recorders. Tools
take one in place of a session: they store their results, and it stores the calls.
"""

from pagefault_client._async.recorder import AsyncRecorder
from pagefault_client._sync.recorder import Recorder

__all__ = ["AsyncRecorder", "Recorder"]

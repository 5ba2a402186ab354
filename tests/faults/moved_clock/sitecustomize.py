"""Gives a process a clock that is moved while it runs, as somebody moves that of a machine.

Python loads this by its name, before anything of ours, where this folder is on `PYTHONPATH`. How
many seconds the clock is moved by stands in the file that `MOVED_CLOCK` names. What the kernel
says of time stays as it is: clocks that only count, and when a file was written.
"""

import ctypes
import gc
import os
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import uuid_utils

_PLACE = Path(os.environ["MOVED_CLOCK"])
_NANOSECONDS = 1_000_000_000
_time_ns, _now, _uuid7 = time.time_ns, datetime.now, uuid_utils.uuid7


def _moved_by() -> int:
    return int(_PLACE.read_text())


def _moved_time_ns() -> int:
    return _time_ns() + _moved_by() * _NANOSECONDS


def _moved_time() -> float:
    return _moved_time_ns() / _NANOSECONDS


def _moved_now(_: type, tz: tzinfo | None = None) -> datetime:
    return _now(tz) + timedelta(seconds=_moved_by())


def _moved_uuid7() -> uuid_utils.UUID:
    return _uuid7(*divmod(_moved_time_ns(), _NANOSECONDS))


time.time_ns, time.time = _moved_time_ns, _moved_time
uuid_utils.uuid7 = _moved_uuid7  # type: ignore[assignment]
# A class of our own in its place would not be what everybody else calls a datetime; the method
# of this one can only be reached behind the back of the interpreter.
gc.get_referents(datetime.__dict__)[0]["now"] = classmethod(_moved_now)
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime))

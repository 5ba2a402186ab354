"""Deferred results of calls: those of tasks, and of calls that require input.

A server may answer a call with a task. In 2025-11-25 the host requests the result with
`tasks/result`, whose answer has the form of the call's. In the extension of 2026-07-28 the answer
to `tasks/get`, and `notifications/tasks`, have the task, with its result or error once it has
ended.

Source: specification of MCP, 2025-11-25, "Tasks"; extension `io.modelcontextprotocol/tasks`,
2026-07-28; specification of MCP, 2026-07-28, "Multi Round-Trip Requests".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Message, locate_members
from pagefault_mcp.messages.message_values import member, member_value, parse_member

GET_TASK: Final = "tasks/get"
TASK_RESULT: Final = "tasks/result"
TASK_CHANGED: Final = "notifications/tasks"

_RESULT_OF: Mapping[object, str] = MappingProxyType({"completed": "result", "failed": "error"})
_WITHOUT_RESULT = ("failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Deferral:
    """An answer without the result of a call, which follows from a task or a repeated call."""

    task_id: str | None = None
    """The task that has the result."""
    is_in_task: bool = False
    """The result is a member of the task, as in 2026-07-28."""
    state: str | None = None
    """The `requestState` of the answer, with which the call is repeated."""


def find_deferral(line: Message, result: Span) -> Deferral | None:
    """Return the deferral in an answer; `None` if it has the result."""
    members = locate_members(line, result)
    kind = member_value(line, members, "resultType")
    if kind == "input_required":
        state = member_value(line, members, "requestState")
        return Deferral(state=state if isinstance(state, str) else "")
    is_in_task = kind == "task"
    if is_in_task:
        task_id = member_value(line, members, "taskId")
    elif "task" in members and "content" not in members:
        task_id = member(parse_member(line, members["task"]), "taskId")
    else:
        return None
    return Deferral(task_id, is_in_task) if isinstance(task_id, str) else None


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The end of a call: its result or its error."""

    answer: Span
    """The span of the result, of the error, or of the status message."""
    is_success: bool
    """The answer is a result."""


def task_end(line: Message, task: Span) -> TaskEnd | None:
    """Return the end of a task; `None` while it is running.

    Args:
        line: The message.
        task: The span of the task, as in 2026-07-28.
    """
    members = locate_members(line, task)
    status = member_value(line, members, "status")
    if not isinstance(status, str):
        return None
    name = _RESULT_OF.get(status)
    if name in members:
        return TaskEnd(members[name], is_success=name == "result")
    if status not in _WITHOUT_RESULT:
        return None
    return TaskEnd(members.get("statusMessage", members["status"]), is_success=False)

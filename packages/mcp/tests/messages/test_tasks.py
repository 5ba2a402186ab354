"""Tasks: which answer defers a result, and where the result is once the task has ended."""

import json
from collections.abc import Callable
from typing import TypeVar

import pytest

from pagefault_mcp.messages.lines import Line
from pagefault_mcp.messages.request_tracker import (
    CallResponse,
    Deferral,
    RequestTracker,
    find_deferral,
    find_task_outcome,
)

Taken = TypeVar("Taken")
DEFERRALS: list[tuple[object, Deferral | None]] = [
    ({"content": []}, None),
    ({"resultType": "complete", "content": []}, None),
    ({"resultType": "input_required", "requestState": "s"}, Deferral(state="s")),
    ({"resultType": "input_required", "inputRequests": {}}, Deferral(state="")),
    ({"resultType": "input_required", "requestState": [1]}, Deferral(state="")),
    ({"task": {"taskId": "t"}}, Deferral("t")),
    ({"task": {"taskId": "t"}, "content": []}, None),
    ({"resultType": "task", "taskId": "t", "status": "working"}, Deferral("t", is_in_task=True)),
    ({"resultType": "task", "taskId": 5, "status": "working"}, None),
    ({"resultType": "task", "task": {"taskId": "t"}}, None),
    ([1], None),
]
ENDS: list[tuple[object, tuple[object, bool] | None]] = [
    ({"status": "working"}, None),
    ({"status": "input_required", "inputRequests": {}}, None),
    ({"status": "working", "result": {}, "error": {}}, None),
    ({"status": "completed", "result": {"content": []}}, ({"content": []}, True)),
    ({"status": "completed"}, None),
    ({"status": "failed", "statusMessage": "m", "error": {"code": 1}}, ({"code": 1}, False)),
    ({"status": "failed", "statusMessage": "m"}, ("m", False)),
    ({"status": "cancelled", "statusMessage": "m", "result": {}}, ("m", False)),
    ({"status": "cancelled"}, ("cancelled", False)),
    ({"status": ["completed"], "result": {}}, None),
    ({"status": "unheard of", "result": {}}, None),
    ([1], None),
]
HANDLE = {"resultType": "task", "taskId": "t", "status": "working"}
ENDED = {"taskId": "t", "status": "completed", "result": {"content": []}}


def with_line(take: Callable[[Line], Taken], message: object) -> Taken:
    """Have a message taken."""
    with Line() as line:
        line.add(json.dumps(message).encode() + b"\n")
        return take(line)


def with_a_task(is_in_task: bool) -> RequestTracker:
    """A call was answered by a task."""
    requests = RequestTracker({}, takes_paths=False, warn=pytest.fail)
    request = {"id": 1, "method": "tools/call", "params": {"name": "a"}}
    call = with_line(requests.track, request)
    assert call is not None
    requests.defer(call, Deferral("t", is_in_task=is_in_task))
    return requests


@pytest.mark.parametrize(("result", "expected"), DEFERRALS)
def test_result_that_comes_later_is_told_from_one_that_is_there(
    result: object, expected: Deferral | None
) -> None:
    message = {"id": 1, "result": result}
    assert with_line(lambda line: find_deferral(line, line.members["result"]), message) == expected


@pytest.mark.parametrize(("task", "expected"), ENDS)
def test_end_of_a_task_is_its_result_or_its_error_or_words(
    task: object, expected: tuple[object, bool] | None
) -> None:
    def read(line: Line) -> tuple[object, bool] | None:
        end = find_task_outcome(line, line.members["result"])
        return None if end is None else (json.loads(line.read(end.span)), end.is_success)

    assert with_line(read, {"id": 1, "result": task}) == expected


@pytest.mark.parametrize(
    ("is_in_task", "method", "ends"),
    [
        (True, "tasks/get", True),
        (True, "tasks/cancel", False),
        (False, "tasks/get", False),
        (True, "tasks/result", False),
    ],
)
def test_task_is_read_in_the_answers_that_hold_it(
    is_in_task: bool,
    method: str,
    ends: bool,
) -> None:
    requests = with_a_task(is_in_task)
    for number, status in ((2, "working"), (3, "completed")):
        with_line(requests.track, {"id": number, "method": method, "params": {"taskId": "t"}})
        answered = with_line(
            requests.match_response, {"id": number, "result": {**ENDED, "status": status}}
        )
        assert isinstance(answered, CallResponse) is (ends and status == "completed")
    assert with_line(requests.match_response, {"id": 3, "result": ENDED}) is None


def test_poll_that_fails_or_was_cancelled_ends_no_task() -> None:
    requests = with_a_task(is_in_task=True)
    request = {"method": "tasks/get", "params": {"taskId": "t"}}
    with_line(requests.track, {"id": 2, **request})
    assert with_line(requests.match_response, {"id": 2, "error": {"code": -32602}}) is None
    with_line(requests.track, {"id": 3, **request})
    with_line(requests.track, {"method": "notifications/cancelled", "params": {"requestId": 3}})
    late = with_line(requests.match_response, {"id": 3, "result": ENDED})
    assert isinstance(late, CallResponse)


@pytest.mark.parametrize(
    ("is_in_task", "params", "ends"),
    [
        (True, ENDED, True),
        (True, {**ENDED, "status": "working"}, False),
        (True, {**ENDED, "taskId": "another"}, False),
        (True, [], False),
        (False, ENDED, False),
    ],
)
def test_notification_of_a_task_that_has_ended_has_its_result(
    is_in_task: bool,
    params: object,
    ends: bool,
) -> None:
    notification = {"method": "notifications/tasks", "params": params}
    answered = with_line(with_a_task(is_in_task).match_response, notification)
    assert isinstance(answered, CallResponse) is ends

"""Tasks of MCP 2026-07-28 through the proxy, between a client and a server of the official SDK."""

from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.types import CallToolResult, Request, RequestParams, Result

from packages.mcp.tests.e2e.test_proxy_command import history
from packages.mcp.tests.e2e.test_proxy_upstream import in_front_of, texts
from tests.kit.mcp_sdk_server import FAILED, serving_mcp

pytestmark = pytest.mark.anyio


class TaskHandle(Result):
    """The first answer to a call."""

    result_type: Literal["task"] = "task"
    task_id: str


class TaskParams(RequestParams):
    """The parameters of `tasks/get`."""

    task_id: str


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    """Asks for a task."""

    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param: ClassVar[str | None] = "taskId"


class Task(Result):
    """A task with its result or its error."""

    status: str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Tasks(ClientExtension):
    """Waits for the ends of tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=_ended)]


async def _ended(handle: TaskHandle, context: ClaimContext) -> CallToolResult:
    request = GetTask(params=TaskParams(task_id=handle.task_id))
    task = await context.session.send_request(request, Task)
    if task.error is not None:
        raise MCPError(**task.error)
    return CallToolResult.model_validate(task.result)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_client_of_the_sdk_gets_the_end_of_a_task_and_it_is_stored(
    tmp_path: Path, transport: str
) -> None:
    if transport == "http":
        with serving_mcp("http") as url:
            await _use_tasks(tmp_path, url)
    else:
        await _use_tasks(tmp_path, None)
    entries = history(tmp_path / "data", "near")
    results = [entry["sanitized"] for entry in entries if "sanitized" in entry]
    text = "done at last completed" if transport == "http" else "done at last"
    assert [(result["meta"]["success"], result["parts"][0]["text"]) for result in results] == [
        (True, text),
        (False, results[1]["parts"][0]["text"]),
    ]
    assert FAILED["message"] in results[1]["parts"][0]["text"]


async def _use_tasks(folder: Path, url: str | None) -> None:
    proxy = in_front_of(url, folder / "data")
    async with Client(proxy, extensions=[Tasks()]) as client:
        done = await client.call_tool("later", {"ends": "completed"})
        assert texts(done)[0].startswith("done at last")
        with pytest.raises(MCPError, match=str(FAILED["message"])):
            await client.call_tool("later", {"ends": "failed"})

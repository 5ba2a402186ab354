"""A round trip with the Python client of openapi-generator."""

import hashlib
import json
import os
from pathlib import Path

import openapi_client as pagefault
from openapi_client import models
from openapi_client.exceptions import NotFoundException

SESSION = os.environ["SESSION"]
LARGE = 3_000_000_000


def text_of(entry: models.HistoryEntry) -> str:
    """Return the value of a member that only this kind of entry has."""
    match entry.actual_instance:
        case models.ToolMessage() as result:
            return result.sanitized.meta.tool_name
        case models.PageFaultMessage() as fault:
            return str(fault.tool_call_id)
        case models.HistoryMessage() as message:
            return str(message.content.actual_instance if message.content else None)
        case other:
            return type(other).__name__


def main(client: pagefault.ApiClient) -> dict[str, object]:
    """Call the service, and return its answers."""
    picture = Path(os.environ["PICTURE"]).read_bytes()
    pages = pagefault.PagesApi(client)
    sessions = pagefault.SessionsApi(client)
    made = pagefault.ToolResultsApi(client).create_tool_result(
        models.ToolResultRequest(
            toolName="camera", toolCallId="call_1", sessionId=SESSION, result="Done."
        )
    )
    rendered = pagefault.RenderingsApi(client).render_tool_result(made.id, models.Target.ANTHROPIC)
    pages.put_page(SESSION, models.PageDraft(content="Hello."))
    page = pages.get_page(SESSION)
    level = models.LevelInput(models.LevelName.FULL)
    fault = pages.fault_page(
        SESSION,
        fault_request=models.FaultRequest(
            target_level=level, session_id=SESSION, tool_call_id="call_2"
        ),
    )
    sessions.append_message(SESSION, models.HistoryMessageDraft(role="user", content="Thanks."))
    history = sessions.list_messages(SESSION)
    resources = pagefault.ResourcesApi(client)
    stored = resources.create_resource(picture, filename="picture.png")
    uploads = pagefault.UploadsApi(client)
    begun = uploads.create_upload_with_http_info(models.TusVersion.ENUM_1_DOT_0_DOT_0, LARGE)
    place = (begun.headers or {})["location"].rpartition("/")[2]
    return {
        "page": page.content,
        "rendered": rendered.target,
        "fault": fault.content.actual_instance,
        "refused": refusal(pages),
        "history": [
            [entry.actual_instance.entry, text_of(entry)]
            for entry in history.items
            if entry.actual_instance
        ],
        "uploaded": stored.size,
        "downloaded": hashlib.sha256(resources.get_resource_content(stored.uri)).hexdigest(),
        "length": uploads.get_upload(place).length,
        "event": first_event(client),
    }


def refusal(pages: pagefault.PagesApi) -> list[object]:
    """Return the problem of a fault of an absent page."""
    level = models.LevelInput(0)
    try:
        pages.fault_page("absent", fault_request=models.FaultRequest(target_level=level))
    except NotFoundException as refused:
        problem = refused.data
        assert isinstance(problem, models.PageFaultProblem)
        return [problem.status, problem.role, problem.page_id]
    return []


def first_event(client: pagefault.ApiClient) -> list[str]:
    """Return the first event of the session, read from the stream."""
    events = pagefault.EventsApi(client)
    stream = events.stream_session_events_without_preload_content(SESSION, after=0)
    frame: dict[str, object] = {}
    for line in stream:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field in ("event", "id", "data"):
            frame[field] = value if field == "event" else json.loads(value)
        if "data" in frame and "event" in frame:
            break
    event = models.StreamEvent.from_dict(frame).actual_instance
    assert isinstance(event, models.ToolResultFrame)
    return [event.event, event.data.tool_name]


if __name__ == "__main__":
    settings = pagefault.Configuration(
        host=os.environ["PAGEFAULT_URL"], access_token=os.environ["PAGEFAULT_KEY"]
    )
    with pagefault.ApiClient(settings) as api_client:
        print(json.dumps(main(api_client)))

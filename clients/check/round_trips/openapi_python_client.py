"""A round trip with the client of openapi-python-client."""

import hashlib
import json
import os
from io import BytesIO
from pathlib import Path

from generated_client import AuthenticatedClient
from generated_client.api.pages import fault_page, get_page, put_page
from generated_client.api.renderings import render_tool_result
from generated_client.api.resources import create_resource, get_resource_content
from generated_client.api.sessions import append_message, list_messages
from generated_client.api.tool_results import create_tool_result
from generated_client.api.uploads import create_upload, get_upload
from generated_client.models import (
    AnswerEntry,
    FaultRequest,
    HistoryMessage,
    HistoryMessageDraft,
    InteractionEntry,
    Level,
    LevelName,
    PageDraft,
    PageFaultMessage,
    PageFaultProblem,
    PageRecord,
    PageToolMessage,
    RenderedRecord,
    RenderedToolResult,
    ResourceRecord,
    Target,
    ToolMessage,
    ToolResultEvent,
    ToolResultRequest,
    TusVersion,
    UploadRecord,
)
from generated_client.types import File

SESSION = os.environ["SESSION"]
LARGE = 3_000_000_000
Entry = ToolMessage | PageFaultMessage | InteractionEntry | AnswerEntry | HistoryMessage


def text_of(entry: Entry) -> str:
    """Return the value of a member that only this kind of entry has."""
    match entry:
        case ToolMessage():
            return entry.sanitized.meta.tool_name
        case PageFaultMessage():
            return str(entry.tool_call_id)
        case HistoryMessage():
            return str(entry.content)
        case _:
            return type(entry).__name__


def main() -> dict[str, object]:
    """Call the service, and return its answers."""
    client = AuthenticatedClient(os.environ["PAGEFAULT_URL"], os.environ["PAGEFAULT_KEY"])
    picture = Path(os.environ["PICTURE"]).read_bytes()
    result = ToolResultRequest("camera", "call_1", "Done.", session_id=SESSION)
    made = create_tool_result.sync(client=client, body=result)
    assert isinstance(made, RenderedToolResult)
    rendered = render_tool_result.sync(made.id, client=client, target=Target.ANTHROPIC)
    assert isinstance(rendered, RenderedRecord)
    put_page.sync(SESSION, client=client, body=PageDraft(content="Hello."))
    page = get_page.sync(SESSION, client=client)
    assert isinstance(page, PageRecord)
    fault_request = FaultRequest(LevelName.FULL, session_id=SESSION, tool_call_id="call_2")
    fault = fault_page.sync(SESSION, client=client, body=fault_request)
    assert isinstance(fault, PageToolMessage)
    refused = fault_page.sync("absent", client=client, body=FaultRequest(Level.FULL))
    assert isinstance(refused, PageFaultProblem)
    message = HistoryMessageDraft(role="user", content="Thanks.")
    append_message.sync(SESSION, client=client, body=message)
    history = list_messages.sync(SESSION, client=client)
    assert history is not None
    assert not hasattr(history, "detail")
    file = File(BytesIO(picture), "picture.png", "image/png")
    stored = create_resource.sync(client=client, body=file, filename="picture.png")
    assert isinstance(stored, ResourceRecord)
    content = get_resource_content.sync(stored.uri, client=client)
    assert isinstance(content, File)
    begun = create_upload.sync_detailed(
        client=client, tus_resumable=TusVersion.VALUE_0, upload_length=LARGE
    )
    upload = get_upload.sync(begun.headers["location"].rpartition("/")[2], client=client)
    assert isinstance(upload, UploadRecord)
    return {
        "page": page.content,
        "rendered": rendered.target,
        "fault": fault.content,
        "refused": [refused.status, refused.role, refused.page_id],
        "history": [[entry.entry, text_of(entry)] for entry in history.items],
        "uploaded": stored.size,
        "downloaded": hashlib.sha256(content.payload.read()).hexdigest(),
        "length": upload.length,
        "event": first_event(client),
    }


def first_event(client: AuthenticatedClient) -> list[str]:
    """Return the first event of the session, read from the stream."""
    address = f"/api/sessions/{SESSION}/events"
    with client.get_httpx_client().stream("GET", address, params={"after": 0}) as stream:
        name = ""
        for line in stream.iter_lines():
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                return [name, ToolResultEvent.from_dict(json.loads(value)).tool_name]
    return []


if __name__ == "__main__":
    print(json.dumps(main()))

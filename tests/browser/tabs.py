"""Tabs of the browser that note what nobody may have wanted."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import (
    CDPSession,
    ConsoleMessage,
    Dialog,
    FilePayload,
    Locator,
    Page,
    Request,
    expect,
)

# What a browser says of every answer that is not a success; the viewer tells of those itself.
_STATUS_MESSAGE = re.compile(r"Failed to load resource: (the server responded with|net::ERR_)")


@dataclass
class Tab:
    """A tab of the viewer.

    `faults` are dialogs, errors on the console (violations of the policy of the document among
    them), broken scripts, and requests to other hosts; after every test there have to be none.
    """

    page: Page
    base_url: str
    requests: list[Request] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    network: CDPSession | None = None

    def __post_init__(self) -> None:
        self.page.on("dialog", self._note_dialog)
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        # Those of the whole context, so that a tab opened by this one is watched as well.
        self.page.context.on("request", self._note_request)

    def open(self, path: str) -> None:
        """Go to an address of the viewer."""
        self.page.goto(self.base_url + path)

    def show_cards(self) -> None:
        """Show entries as cards from now on, also where there are many."""
        self.page.add_init_script("localStorage.setItem('density', 'cards')")

    def give_key(self, key: str) -> None:
        """Enter a key where it is asked for."""
        dialog = self.page.locator("dialog[open]")
        dialog.get_by_label("Key", exact=True).fill(key)
        dialog.get_by_role("button", name="Open").click()

    def slow_down(self, *, download: int | None = None, upload: int | None = None) -> None:
        """Let so many bytes a second through from now on, or as many as there are."""
        if self.network is None:
            self.network = self.page.context.new_cdp_session(self.page)
            self.network.send("Network.enable")
        limits = {"downloadThroughput": download or -1, "uploadThroughput": upload or -1}
        conditions = {"offline": False, "latency": 0, **limits}
        self.network.send("Network.emulateNetworkConditions", conditions)

    def choose_files(self, *files: tuple[str, str, bytes]) -> None:
        """Choose files to be uploaded: of each its name, its type, its bytes."""
        self.page.get_by_label("Drop files here").set_input_files(
            [FilePayload(name=name, mimeType=kind, buffer=data) for name, kind, data in files]
        )

    @property
    def entries(self) -> Locator:
        """The entries of the timeline."""
        return self.page.locator("[data-seq]")

    def await_live(self) -> None:
        """Wait until news would be heard."""
        expect(self.page.locator("[data-state]")).to_have_attribute("data-state", "live")

    def content_ids(self) -> list[str]:
        """The resources whose content was asked for, in that order."""
        asked = (re.search(r"/resources/(\w+)/content", request.url) for request in self.requests)
        return [match[1] for match in asked if match is not None]

    def _note_dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _STATUS_MESSAGE.match(message.text):
            self.faults.append(f"console: {message.text}")

    def _note_request(self, request: Request) -> None:
        self.requests.append(request)
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and not request.url.startswith(self.base_url):
            self.faults.append(f"request: {request.url}")

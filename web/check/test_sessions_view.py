"""The list of sessions, and what can be done with one: export, import, delete, compare, search."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import httpx
from playwright.sync_api import FilePayload, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.contract.render_cases import file_block
from tests.kit import media
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

OTHER = "second-try"


def test_session_is_listed_with_its_title_and_what_it_holds(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    shop.written(writer, [shop.message("user", "Nothing else.", session_id=OTHER)])
    # Failures of messages are known once these are indexed, which this request waits for.
    assert writer.get("/api/called-tools").status_code == 200
    tab = add_axe(open_tab(open_service))
    tab.open("/sessions")
    row = tab.page.locator(".session-row", has_text=shop.SESSION)
    for fact in (
        "Checkout fails for some customers",
        "5 distinct images",
        "2 failed",
        "15 entries",
    ):
        expect(row).to_contain_text(fact)
    assert_accessible(tab)
    field = tab.page.get_by_label("Search by id, or by words")
    for query, found in (
        ("regression", shop.SESSION),
        ("customers", shop.SESSION),
        ("hotline", shop.SESSION),
    ):
        field.fill(query)
        expect(tab.page.locator(".session-row", has_text=OTHER)).to_have_count(0)
        expect(tab.page.locator(".session-row", has_text=found)).to_be_visible()


def test_session_is_exported_deleted_with_a_receipt_and_imported_the_same(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, tmp_path: Path
) -> None:
    shop.written(writer, shop.OPENING)
    tab = add_axe(open_tab(open_service, accept_downloads=True))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(3)
    before = writer.get(f"/api/sessions/{shop.SESSION}/bundle").content
    page.get_by_text("Actions", exact=True).click()
    assert_accessible(tab)
    with page.expect_download() as downloads:
        page.get_by_role("button", name="Export as a bundle").click()
    bundle = tmp_path / "bundle.zip"
    downloads.value.save_as(bundle)
    assert (downloads.value.suggested_filename, bundle.read_bytes()) == (
        f"{shop.SESSION}.zip",
        before,
    )

    page.get_by_role("button", name="Delete …").click()
    expect(page.get_by_role("heading", name=f"Delete {shop.SESSION}?")).to_be_visible()
    assert_accessible(tab)
    page.get_by_role("button", name="Cancel").click()
    assert writer.get(f"/api/sessions/{shop.SESSION}").is_success
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete it now").click()
    expect(page.get_by_text("Deleted: 3 entries, 0 pages.")).to_be_visible()
    expect(page.get_by_text("went with it")).to_be_visible()
    assert_accessible(tab)
    page.get_by_role("button", name="Close").click()
    assert writer.get(f"/api/sessions/{shop.SESSION}").status_code == 404

    tab.open("/sessions")
    choose = page.get_by_label("A bundle (.zip)")
    choose.set_input_files(bundle)
    expect(page).to_have_url(f"{open_service.base_url}/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(3)
    assert writer.get(f"/api/sessions/{shop.SESSION}/bundle").content == before
    choose.set_input_files(bundle)
    expect(page.get_by_text("There is such a session already.")).to_be_visible()
    choose.set_input_files(FilePayload(name="notes.zip", mimeType="", buffer=b"# Notes"))
    expect(page.get_by_role("alert").first).to_contain_text("This is no intact bundle.")
    assert_accessible(tab)


def test_session_is_exported_as_a_file_of_html_whose_size_is_said_before(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, tmp_path: Path
) -> None:
    shop.written(writer, shop.OPENING)
    tab = add_axe(open_tab(open_service, accept_downloads=True))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(3)
    document = writer.get(f"/api/sessions/{shop.SESSION}/document").content
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    page.get_by_text("Actions", exact=True).click()
    export = page.get_by_role("button", name=re.compile("Export as HTML"))
    expect(export).to_have_text(re.compile(r"\(about [\d.]+ kB\)"))
    assert_accessible(tab)
    # The service writes no document for a menu.
    assert not [line for line in sent if "/document" in line]
    estimated = float(re.findall(r"[\d.]+", export.text_content() or "")[0]) * 1_000
    assert 0.8 < estimated / len(document) < 1.25
    with page.expect_download() as downloads:
        export.click()
    file = tmp_path / "session.html"
    downloads.value.save_as(file)
    assert (downloads.value.suggested_filename, file.read_bytes()) == (
        f"{shop.SESSION}.html",
        document,
    )
    assert [line.rpartition("/document")[2] for line in sent if "/document" in line] == [
        "?media=inline"
    ]


def test_session_that_is_too_large_is_exported_without_its_files(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Begin.")])
    for number in range(2):
        noise = media.noise_bytes(20_000_000) + bytes([number])
        blocks = shop.content(file_block("x", noise, "audio/mpeg"))
        shop.written(writer, [shop.tool_result("record", f"c{number}", blocks)])
    tab = add_axe(open_tab(open_service, accept_downloads=True))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("button", name="Export as HTML (about 53 MB, too large)").click()
    expect(page.get_by_role("alert")).to_contain_text("a document may have 52,428,800 (50 MiB)")
    assert_accessible(tab)
    with page.expect_download() as downloads:
        page.get_by_role("button", name="Export as HTML without files").click()
    assert "A file that is left out" in downloads.value.path().read_text()


def test_texts_that_differ_too_much_are_said_to(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for session in (shop.SESSION, OTHER):
        blocks = [shop.text(f"{session} {number}") for number in range(6_000)]
        shop.written(writer, [shop.message("user", blocks, session_id=session)])
    tab = open_tab(open_service)
    tab.open(f"/compare?a={shop.SESSION}&b={OTHER}")
    tab.page.get_by_text("Show the difference").click()
    expect(tab.page.get_by_text("They differ too much to be shown line by line.")).to_be_visible()


def test_two_sessions_are_compared(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for session, answer in ((shop.SESSION, "It is ten."), (OTHER, "It is eleven.")):
        shop.written(
            writer,
            [
                shop.message("user", "What is the time?", session_id=session),
                shop.tool_result("clock", "c", answer, session_id=session),
            ],
        )
    shop.written(writer, [shop.message("user", "Thanks.", session_id=OTHER)])
    tab = add_axe(open_tab(open_service))
    tab.open("/compare")
    expect(tab.page.get_by_text("Choose two sessions")).to_be_visible()
    tab.page.get_by_label("First session").select_option(shop.SESSION)
    tab.page.get_by_label("Second session").select_option(OTHER)
    summary = "1 the same, 1 differ, 0 only in the first, 1 only in the second."
    expect(tab.page.get_by_text(summary)).to_be_visible()
    # A result counts as a call, also where no message has the call.
    expect(tab.page.get_by_role("row", name="Calls")).to_have_text("Calls11")
    tab.page.get_by_text("Show the difference").click()
    expect(tab.page.locator(".hljs-addition", has_text="It is eleven.")).to_be_visible()
    expect(tab.page.locator(".hljs-deletion", has_text="It is ten.")).to_be_visible()
    assert_accessible(tab)
    tab.page.get_by_label("Only differences").check()
    expect(tab.page.locator(".pair")).to_have_count(2)
    tab.page.reload()
    expect(tab.page.get_by_text(summary)).to_be_visible()


def test_results_of_several_lines_are_compared_by_these_lines(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    log = [f"step {number} ok" for number in range(40)]
    for session, verdict in ((shop.SESSION, "\x1b[32mpassed\x1b[0m"), (OTHER, "\x1b[31mfailed")):
        text = "\n".join([*log, verdict, *log])
        result = shop.content(shop.text(text))
        shop.written(writer, [shop.tool_result("make", "c", result, session_id=session)])
    tab = add_axe(open_tab(open_service))
    tab.open(f"/compare?a={shop.SESSION}&b={OTHER}")
    tab.page.get_by_text("Show the difference").click()
    expect(tab.page.locator(".hljs-deletion")).to_have_text(re.compile(r"^-\s+passed$"))
    expect(tab.page.locator(".hljs-addition")).to_have_text(re.compile(r"^\+\s+failed$"))
    expect(tab.page.locator(".pair-difference")).not_to_contain_text("step 30 ok")
    assert_accessible(tab)
    tab.open(f"/compare?a=nope&b={OTHER}")
    expect(tab.page.get_by_text("There is no session nope")).to_be_visible()


def test_everything_is_searched_and_hits_lead_to_their_entries(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = add_axe(open_tab(open_service))
    tab.open("/search")
    expect(tab.page.get_by_text("Search pages, tool results")).to_be_visible()
    tab.page.get_by_label("Search everything").fill("certificate")
    expect(tab.page.get_by_role("link", name="Latency before and after")).to_be_visible()
    expect(tab.page.locator("mark").first).to_have_text("certificate")
    tab.page.get_by_label("Search everything").fill("order declined")
    tab.page.get_by_label("Kind").select_option("tool_result")
    link = tab.page.get_by_role("link", name="browser.screenshot")
    expect(link).to_be_visible()
    assert_accessible(tab)
    link.click()
    expect(tab.page.locator('[data-seq="5"]')).to_have_attribute("aria-current", "location")
    tab.page.go_back()
    expect(link).to_be_visible()
    tab.page.get_by_label("Search everything").fill("zebra")
    expect(tab.page.get_by_text("Nothing has these words")).to_be_visible()
    assert_accessible(tab)


def test_hit_in_a_result_of_a_message_is_a_tool_result_of_its_tool(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    use = {"type": "tool_use", "id": "u", "name": "Bash", "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": "u", "content": "zebra.txt"}
    shop.written(
        writer,
        [
            shop.message("user", "List the files."),
            shop.message("assistant", [use]),
            shop.message("user", [answer]),
            shop.message("user", [answer | {"tool_use_id": "unknown"}]),
        ],
    )
    tab = add_axe(open_tab(open_service))
    tab.open("/search?q=zebra&kinds=tool_result")
    hits = tab.page.locator(".search-hit h2")
    expect(hits).to_have_text(["Result of a tool Tool results", "Bash Tool results"])
    assert_accessible(tab)
    tab.page.get_by_label("Kind").select_option("message")
    expect(hits).to_have_count(2)
    tab.page.get_by_role("link", name="Bash").click()
    expect(tab.page.locator('[data-seq="3"]')).to_have_attribute("aria-current", "location")
    tab.page.get_by_label("Search in this session").fill("zebra")
    expect(tab.page.locator(".find-hit", has_text="Bash")).to_be_visible()


def test_address_leads_the_fields_that_search(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = open_tab(open_service)
    page = tab.page
    tab.open("/search?q=order")
    expect(page.locator(".search-hit").first).to_be_visible()
    page.get_by_label("Kind").select_option("message")
    field = page.get_by_label("Search everything")
    field.fill("customers")
    expect(page).to_have_url(re.compile("q=customers&kinds=message$"))
    # The page has this address too, once it shows the hits.
    expect(page.locator(".search-hit mark").first).to_have_text("customers")
    page.go_back()
    expect(page).to_have_url(re.compile(r"/search\?q=order$"))
    expect(field).to_have_value("order")

    tab.open("/sessions?q=check")
    field = page.get_by_label("Search by id, or by words")
    expect(page.locator(".session-row")).to_have_count(1)
    page.get_by_role("navigation").get_by_role("link", name="Sessions").click()
    expect(page).to_have_url(re.compile("/sessions$"))
    expect(field).to_have_value("")


def test_header_has_the_whole_title_of_a_session(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    title = f"{'Why is the order declined, and what is new since Monday? ' * 5}Thank you."
    shop.written(
        writer,
        [
            shop.message("system", "Be brief."),
            shop.message("user", f"\n  {title.replace('order', 'order ')}\nMore of it."),
        ],
    )
    for width in (1440, 390):
        tab = add_axe(open_tab(open_service, viewport={"width": width, "height": 900}))
        tab.open(f"/sessions/{shop.SESSION}")
        heading = tab.page.locator(".timeline-header h1")
        expect(heading).to_have_text(title)
        expect(heading).to_have_attribute("title", title)
        more = tab.page.get_by_role("button", name="Whole title")
        assert_accessible(tab)
        line = heading.bounding_box()
        more.press("Enter")
        expect(more).to_have_attribute("aria-expanded", "true")
        whole = heading.bounding_box()
        assert line is not None
        assert whole is not None
        assert whole["height"] > line["height"]
        assert heading.evaluate("box => box.scrollWidth <= box.clientWidth")
        assert_accessible(tab)
        more.press("Enter")
        assert heading.bounding_box() == line


def test_title_that_fits_has_no_button(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = open_tab(open_service, viewport={"width": 1440, "height": 900})
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(3)
    expect(tab.page.locator(".timeline-header h1")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Whole title")).to_have_count(0)


def test_search_in_the_list_leaves_the_open_session_as_it_is(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}?kind=assistant#2")
    expect(tab.entries).to_have_count(2)
    tab.page.get_by_label("Search by id, or by words").fill("check")
    expect(tab.page).to_have_url(re.compile(r"\?kind=assistant&q=check#2$"))
    tab.page.get_by_label("Search in this session").fill("page")
    expect(tab.page).to_have_url(re.compile(r"\?kind=assistant&q=check&find=page#2$"))
    expect(tab.entries).to_have_count(2)


def test_unknown_session_is_said_to_be_none(open_service: LiveService, open_tab: OpenTab) -> None:
    tab = add_axe(open_tab(open_service))
    tab.open("/sessions/nope")
    expect(tab.page.get_by_text("There is no session nope")).to_be_visible()
    expect(tab.page.get_by_text("Actions")).to_have_count(0)
    assert_accessible(tab)


def test_search_that_finds_no_session_says_where_it_has_looked(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = open_tab(open_service)
    tab.open("/sessions?q=zzzqqq")
    none = tab.page.get_by_text("No id, title, tool or entry of a session has")
    expect(none).to_be_visible()
    tab.page.get_by_label("Search by id").fill("customers")
    expect(tab.page.get_by_role("heading", name="Sessions with these words")).to_be_visible()
    expect(none).to_be_hidden()


def test_refused_bundle_is_said_once_until_it_is_dismissed(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    bundle = writer.get(f"/api/sessions/{shop.SESSION}/bundle").content
    tab = open_tab(open_service)
    tab.open("/sessions")
    files = FilePayload(name="b.zip", mimeType="application/zip", buffer=bundle)
    tab.page.get_by_label("A bundle (.zip)").set_input_files(files)
    expect(tab.page.get_by_role("alert")).to_have_text(
        re.compile("There is such a session already")
    )
    tab.page.get_by_role("button", name="Dismiss").click()
    expect(tab.page.get_by_role("alert")).to_have_count(0)


def test_menu_is_closed_behind_the_dialog_of_a_deletion(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    tab.page.locator(".menu > summary", has_text="Actions").click()
    tab.page.get_by_role("button", name="Delete …").click()
    expect(tab.page.get_by_role("heading", name=f"Delete {shop.SESSION}?")).to_be_visible()
    expect(tab.page.locator(".menu[open]")).to_have_count(0)


def test_unknown_address_has_the_names_of_the_views(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    tab = add_axe(open_tab(open_service))
    tab.open("/nothing/here")
    expect(tab.page.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
    assert_accessible(tab)
    tab.page.get_by_role("link", name="Upload").click()
    expect(tab.page.get_by_role("heading", name="Upload")).to_be_visible()


def test_row_of_a_session_has_two_lines_however_long_its_names_are(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    words = "Find out why the checkout fails for some customers since noon. " * 3
    long_id = "run-" + "0123456789" * 12
    shop.written(writer, [shop.message("user", words, session_id=long_id)])
    shop.written(writer, shop.EVERYTHING)
    tab = add_axe(open_tab(open_service))
    tab.open("/sessions")
    rows = tab.page.locator(".session-row")
    expect(rows).to_have_count(2)
    heights = [(row.bounding_box() or {"height": 0})["height"] for row in rows.all()]
    assert max(heights) <= 64, heights
    assert_accessible(tab)


def test_sessions_are_ordered_filtered_and_two_of_them_compared(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    failed = shop.tool_result("make", "c", "No.", session_id="failed", success=False)
    shop.written(writer, [failed])
    for number, name in enumerate(("long", "short", "newest"), 1):
        count = 5 if name == "long" else 1
        texts = [shop.message("user", f"{name} {number}", session_id=name)] * count
        shop.written(writer, texts)
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open("/sessions/short")
    rows = page.locator(".session-row .session-title")
    expect(rows).to_have_text(["newest 3", "short 2", "long 1", "failed"])
    page.get_by_label("Order", exact=True).select_option("Entries")
    expect(rows).to_have_text(["long 1", "newest 3", "short 2", "failed"])
    page.get_by_label("Order", exact=True).select_option("Errors")
    expect(rows.first).to_have_text("failed")
    page.get_by_role("button", name="Failed", exact=True).click()
    expect(rows).to_have_text(["failed"])
    page.reload()
    expect(rows).to_have_text(["failed"])
    assert_accessible(tab)
    page.get_by_role("button", name="Failed", exact=True).click()
    for name in ("long 1", "short 2"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("link", name="Compare these two").click()
    expect(page).to_have_url(f"{open_service.base_url}/compare?a=long&b=short")


def test_live_sessions_alone_are_listed_as_long_as_they_are_written_to(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, tmp_path: Path
) -> None:
    names = ["old", "older", "new", "newest"]
    texts = [f"{name} {'x' * len(name)}" for name in names]
    for name, text in zip(names, texts, strict=True):
        shop.written(writer, [shop.message("user", text, session_id=name)])
    shop.written(writer, [shop.message("user", "again", session_id="new")] * 2)

    def age(pattern: str) -> None:
        # Ten minutes ago; a write of the service is in UTC, in microseconds.
        with closing(sqlite3.connect(tmp_path / "open" / "pagefault.db")) as database, database:
            database.execute(
                "UPDATE sessions SET updated_at = updated_at - 600000000 WHERE session_id LIKE ?",
                (pattern,),
            )

    age("old%")
    tab = add_axe(open_tab(open_service))
    page = tab.page
    page.clock.install()
    tab.open("/sessions")
    rows = page.locator(".session-row .session-title")
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Live", exact=True).click()
    expect(rows).to_have_text([texts[2], texts[3]])
    assert_accessible(tab)
    page.get_by_label("Order", exact=True).select_option("Size of files")
    page.get_by_label("Order", exact=True).select_option("Entries")
    expect(page).to_have_url(re.compile("only=live"))
    page.reload()
    expect(rows).to_have_text([texts[2], texts[3]])
    # Words find no others.
    page.get_by_label("Search by id, or by words").fill("old")
    expect(page.get_by_text("No session is in all of these filters.")).to_be_visible()
    page.get_by_label("Search by id, or by words").fill("")
    expect(rows).to_have_count(2)
    # Without an event.
    age("newest")
    page.clock.fast_forward("00:16")
    expect(rows).to_have_text([texts[2]])
    shop.written(writer, [shop.message("user", "again", session_id="old")])
    expect(rows).to_have_count(2)


def test_sessions_are_listed_by_a_tool_that_they_called(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    tools = {"clock": 3, "camera": 1}
    shop.written(writer, [shop.message("user", "Hi.", session_id="clock-0")])
    for tool, count in tools.items():
        for number in range(count):
            call = shop.tool_result(tool, "c", "It is ten.", session_id=f"{tool}-{number}")
            shop.written(writer, [call])
    # Behind the first part of the list.
    shop.written(
        writer, [shop.message("user", "Other.", session_id=f"other-{n}") for n in range(51)]
    )
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open("/sessions/other-0?tool=clock")
    rows = page.locator(".session-row")
    choice = page.get_by_label("Sessions that called")
    expect(choice.get_by_role("option")).to_have_text(["Tool", "camera (1)", "clock (3)"])
    choice.select_option("clock")
    ids = [re.compile(f"clock-{number}") for number in (2, 1, 0)]
    expect(rows).to_have_text(ids)
    # The filter of the open session is another one.
    expect(page).to_have_url(re.compile(r"/sessions/other-0\?tool=clock&called=clock$"))
    page.get_by_label("Order", exact=True).select_option("Entries")
    expect(rows.first).to_have_text(re.compile("clock-0"))
    page.reload()
    expect(rows.first).to_have_text(re.compile("clock-0"))
    expect(rows).to_have_count(3)
    expect(choice).to_have_value("clock")
    assert_accessible(tab)
    # Sessions with these words, and this tool.
    page.get_by_label("Search by id, or by words").fill("ten")
    expect(page.get_by_role("heading", name="Sessions with these words")).to_be_visible()
    expect(rows).to_have_count(3)
    page.get_by_label("Search by id, or by words").fill("")
    expect(page.get_by_role("heading", name="Sessions with these words")).to_have_count(0)
    expect(rows.first).to_have_text(re.compile("clock-0"))
    rows.first.click()
    expect(page).to_have_url(re.compile(r"/sessions/clock-0\?called=clock&sort=entries$"))
    choice.select_option("Tool")
    expect(page).not_to_have_url(re.compile("called="))


def test_first_run_shows_three_ways_to_copy_and_loads_a_sample(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    tab = add_axe(open_tab(open_service, permissions=["clipboard-read", "clipboard-write"]))
    page = tab.page
    tab.open("/sessions")
    panel = page.get_by_role("tabpanel")
    copied: dict[str, str] = {}
    for name, words in (("curl", "curl http"), ("Python", "import Pagefault"), ("MCP", "proxy")):
        page.get_by_role("tab", name=name).click()
        expect(panel).to_contain_text(words)
        panel.get_by_role("button", name="Copy").click()
        expect(panel.get_by_text("Copied")).to_be_visible()
        copied[name] = page.evaluate("navigator.clipboard.readText()")
        assert words in copied[name]
    assert_accessible(tab)
    page.get_by_role("button", name="Load a sample session").click()
    expect(page).to_have_url(f"{open_service.base_url}/sessions/sample")
    expect(tab.entries).to_have_count(8)
    expect(page.locator(".call-card.failed .ansi-red")).to_have_text("FAILED")
    for command in (["bash", "-c", copied["curl"]], [sys.executable, "-c", copied["Python"]]):
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own text
    expect(page.locator(".session-row", has_text="What time is it?")).to_contain_text("2 entries")


def test_first_run_on_a_phone_loads_a_sample(open_service: LiveService, open_tab: OpenTab) -> None:
    tab = add_axe(open_tab(open_service, viewport={"width": 390, "height": 844}))
    page = tab.page
    tab.open("/sessions")
    page.get_by_role("tab", name="Python").click()
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("import Pagefault")
    expect(panel.get_by_role("button", name="Copy")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert_accessible(tab)
    page.get_by_role("button", name="Load a sample session").click()
    expect(page).to_have_url(f"{open_service.base_url}/sessions/sample")
    expect(tab.entries).to_have_count(8)


def test_session_is_pinned_tagged_and_annotated_in_its_header(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    header = page.locator(".timeline-totals")
    pin = header.get_by_role("button", name="Pin ")
    expect(pin).to_have_attribute("aria-pressed", "false")
    pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    for tag in ("nightly", "team/a"):
        header.get_by_role("button", name="Add a tag").click()
        header.get_by_label("New tag").fill(tag)
        page.keyboard.press("Enter")
        expect(header.get_by_role("link", name=tag)).to_be_visible()
        # What opened the field has the focus again.
        expect(header.get_by_role("button", name="Add a tag")).to_be_focused()
    header.get_by_role("button", name="Remove the tag nightly").click()
    expect(header.get_by_role("link", name="nightly")).to_have_count(0)
    header.get_by_role("button", name="Add a note").click()
    header.get_by_label("Note").fill("Why 402?\nAsk the shop.")
    assert_accessible(tab)
    header.get_by_role("button", name="Save").click()
    expect(header.get_by_role("button", name="Why 402?")).to_be_visible()
    assert_accessible(tab)
    marked = writer.get(f"/api/sessions/{shop.SESSION}").json()
    assert {name: marked.get(name) for name in ("pinned", "tags", "note")} == {
        "pinned": True,
        "tags": ["team/a"],
        "note": "Why 402?\nAsk the shop.",
    }
    header.get_by_role("button", name="Why 402?").click()
    header.get_by_label("Note").fill("Something else")
    page.keyboard.press("Escape")
    expect(header.get_by_role("button", name="Why 402?")).to_be_focused()
    header.get_by_role("button", name="Why 402?").click()
    header.get_by_label("Note").fill("")
    header.get_by_role("button", name="Save").click()
    expect(header.get_by_role("button", name="Add a note")).to_be_visible()
    assert "note" not in writer.get(f"/api/sessions/{shop.SESSION}").json()


def test_mark_that_is_refused_is_said(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    twenty = [f"t{number}" for number in range(20)]
    writer.patch(f"/api/sessions/{shop.SESSION}", json={"tags": twenty})
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    header = page.locator(".timeline-totals")
    header.get_by_role("button", name="Add a tag").click()
    field = header.get_by_label("New tag")
    field.fill("No Capitals")
    page.keyboard.press("Enter")
    assert field.evaluate("field => field.validity.patternMismatch")
    field.fill("one-more")
    page.keyboard.press("Enter")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("/tags")
    # The bullets of a failure stand inside of its frame.
    frame, item = alert.bounding_box(), alert.get_by_role("listitem").first.bounding_box()
    assert frame is not None
    assert item is not None
    assert item["x"] - frame["x"] > 24
    expect(field).to_have_value("one-more")
    assert_accessible(tab)


def test_pin_that_is_refused_is_said_in_its_line(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = add_axe(open_tab(open_service))
    page = tab.page
    problem = {"title": "The database does not answer", "status": 503, "detail": "Try again."}
    page.route(
        "**/api/sessions/*",
        lambda route: (
            route.fulfill(status=503, json=problem, content_type="application/problem+json")
            if route.request.method == "PATCH"
            else route.continue_()
        ),
    )
    tab.open("/sessions")
    pin = page.get_by_role("button", name=re.compile("^Pin "))
    pin.click()
    expect(page.locator(".session-place").get_by_role("alert")).to_contain_text("Try again.")
    expect(pin).to_have_attribute("aria-pressed", "false")
    assert_accessible(tab)


def test_pinned_sessions_are_first_and_tags_filter_the_list(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for name in ("oldest", "older", "newest"):
        shop.written(writer, [shop.message("user", name, session_id=name)])
    writer.patch("/api/sessions/older", json={"tags": ["a", "b", "c"]})
    writer.patch("/api/sessions/newest", json={"tags": ["a"]})
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open("/sessions/newest")
    titles = page.locator(".session-row .session-title")
    expect(titles).to_have_text(["newest", "older", "oldest"])
    page.get_by_role("button", name="Pin oldest").click()
    expect(titles).to_have_text(["oldest", "newest", "older"])
    expect(page.get_by_role("heading", name="Pinned", exact=True)).to_be_visible()
    assert_accessible(tab)
    row = page.locator(".session-place", has_text="older")
    expect(row.locator(".session-tags")).to_have_text("a+2")
    row.get_by_role("link", name="a", exact=True).click()
    # The open session stays open.
    expect(page).to_have_url(f"{open_service.base_url}/sessions/newest?tag=a")
    expect(titles).to_have_text(["newest", "older"])
    page.get_by_role("button", name="Pinned", exact=True).click()
    expect(page.get_by_text("No session is in all of these filters.")).to_be_visible()
    assert_accessible(tab)
    page.get_by_role("button", name="Tagged a: show others too").click()
    expect(titles).to_have_text(["oldest"])
    page.get_by_role("button", name="Pin oldest").first.click()
    expect(titles).to_have_count(0)


def test_tag_on_a_phone_leads_to_the_list(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for name in ("one", "two"):
        shop.written(writer, [shop.message("user", name, session_id=name)])
    writer.patch("/api/sessions/one", json={"pinned": True, "tags": ["a"], "note": "Mine."})
    tab = add_axe(open_tab(open_service, viewport={"width": 390, "height": 844}))
    page = tab.page
    tab.open("/sessions/one")
    page.get_by_role("button", name="Find").click()
    assert_accessible(tab)
    page.locator(".timeline-totals").get_by_role("link", name="a", exact=True).click()
    expect(page).to_have_url(f"{open_service.base_url}/sessions?tag=a")
    expect(page.locator(".session-title")).to_have_text(["one"])
    assert_accessible(tab)


def test_line_of_a_session_has_its_last_image_and_sorts_by_tokens(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    for name, words in (("long", "word " * 20_000), ("short", "word")):
        shop.written(writer, [shop.message("user", f"{name} {words}", session_id=name)])
    last = writer.get(f"/api/sessions/{shop.SESSION}").json()["lastImage"]
    tab = add_axe(open_tab(open_service))
    page = tab.page
    tab.open("/sessions")
    picture = page.locator(".session-row", has_text=shop.SESSION).locator(".session-image img")
    expect(picture).to_have_attribute("src", re.compile(last.removeprefix("blob:")))
    expect(picture).to_have_js_property("complete", value=True)
    assert picture.evaluate("image => image.naturalWidth") > 0
    expect(page.locator(".session-image")).to_have_count(1)
    assert_accessible(tab)
    page.get_by_label("Order", exact=True).select_option("Tokens")
    rows = page.locator(".session-row")
    expect(rows.first).to_contain_text(re.compile(r"long.*≈ 2\d,\d{3} tokens of records"))
    expect(rows.last).to_contain_text("short")
    assert_accessible(tab)


def test_sessions_are_grouped_by_today_yesterday_and_dates(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", "Hello.", session_id="s")])
    written = datetime.fromisoformat(writer.get("/api/sessions/s").json()["updatedAt"])
    for days, expected in ((0, "Today"), (1, "Yesterday"), (2, f"{written:%A}, {written.day} ")):
        tab = open_tab(open_service)
        tab.page.clock.set_fixed_time(written + timedelta(days=days))
        tab.open("/sessions")
        expect(tab.page.locator(".session-group")).to_have_text(re.compile(f"^{expected}"))

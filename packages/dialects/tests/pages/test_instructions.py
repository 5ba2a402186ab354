"""The rules of the memory for a prompt, strict or relaxed."""

from pagefault_dialects.pages.instructions import instructions


def test_rules_are_one_per_line_after_the_first_and_differ_in_what_is_asked() -> None:
    strict, relaxed = instructions("strict").split("\n"), instructions("relaxed").split("\n")
    assert strict[0] == "You have a memory of pages and media outside this conversation."
    assert [line for line in (*strict, *relaxed) if not line.startswith("- ")] == [strict[0]] * 2
    assert [line for line in strict if line not in relaxed] == [
        "- Do not answer from a summary what only the page can say.",
        "- Cite what you use: [ref: page_id], or the @blob:… of a medium.",
        "- If a call fails, do what its message says, once; then go on without it.",
    ]
    assert [line for line in relaxed if line not in strict] == [
        "- Cite pages as [ref: page_id] where it helps."
    ]
    assert len(strict) == 11

"""The rules of conversations: the requirement of each, and the repair of violations.

A rendering follows them, and the loss account names omissions and additions by the codes of this
table. The doctor reports the faults of a history by the same codes. Both repair alike, since the
doctor's repair is a rendering.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

from pagefault_dialects.model.finding import Finding

LimitOfMedia: TypeAlias = Literal[
    "types", "addresses", "most_base64", "most_side", "least_side", "most"
]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    demands: str
    """The requirement, as a sentence."""
    fix: str
    """The repair, as a sentence."""
    source: str = "every provider"
    """The source of the requirement."""
    limit: LimitOfMedia | None = None
    """The number or list of a target's media rule that it refers to, if any."""
    reason: str = ""
    """The reason in the loss account, if it is always the same."""
    is_fault: bool = True
    """True if a violation is a fault of the history."""


_lost = partial(Rule, is_fault=False)
"""A loss between dialects, which is no fault of the history."""


_SPEAKING_FIRST = "Anthropic, Gemini and Bedrock"
_STEPS_DOWN = "a smaller image, words, or a line stands for it"

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "not-a-message": Rule(
            "Every entry is a message of a known dialect.",
            "it is left out",
            "the dialects",
            reason="It is no message of a known dialect.",
        ),
        "unknown-role": Rule("A role is one that the dialects know.", "it is read as the user's"),
        "mixed-dialects": Rule(
            "All messages are of one dialect.", "it is written as the others are"
        ),
        "split-calls": Rule(
            "Calls that are answered together stand in one message.", "they are put into one"
        ),
        "no-call": Rule(
            "A result answers a call.",
            "a call without arguments is written before it",
            reason="The history has no call that this answers; one without arguments stands before "
            "it.",
        ),
        "late-answer": Rule(
            "A result stands directly behind its call.",
            "its call is written before it once more",
            reason="The answer came when the conversation had gone on; its call stands before it "
            "once more.",
        ),
        "answered-before": Rule(
            "A call has one result.",
            "the call is left out; the one that was written stays",
            reason="Its answer was shown before it, behind a call that was written for it, and "
            "stays there.",
        ),
        "duplicate-answer": Rule(
            "A call has one result.",
            "the first one stays, and the other is left out",
            reason="The call has its result already, which is told once.",
        ),
        "no-answer": Rule(
            "A call has a result before the conversation goes on.",
            "a line is written as its result",
            reason="No answer to a call was recorded before the conversation went on; a line "
            "stands for it.",
        ),
        "wrong-order": Rule("A result stands directly behind its call.", "it is moved there"),
        "duplicate-id": Rule(
            "No two calls have the same id.",
            "one that is repeated whole is left out, and any other gets a number",
        ),
        "bad-id": Rule(
            "Ids of calls have the characters and the length that the target takes.",
            "it is written anew, in calls and results alike",
            "the target",
        ),
        "bad-name": Rule(
            "Names of tools have the characters and the length that the target takes.",
            "it is written anew",
            "the target",
        ),
        "bad-arguments": Rule(
            "The arguments of a call are a JSON object.", "they become the member `input` of one"
        ),
        "unspelled-arguments": Rule(
            "Arguments are a text, the JSON of an object.", "they are written as a text", "OpenAI"
        ),
        "no-id": Rule("A call has an id, and a result that of its call.", "ids are written"),
        "empty-calls": Rule("A list of calls has a call.", "it is left out", "OpenAI"),
        "results-not-first": Rule(
            "The results of calls stand before all else that the user says.",
            "they are moved there",
            "Anthropic and Bedrock",
        ),
        "media-in-result": Rule(
            "The result of a call is text.",
            "a message of the user behind the results has its media",
            "OpenAI's Chat Completions",
        ),
        "media-in-error": Rule(
            "The result of a call that failed is text.",
            "its media stand behind the results",
            "Anthropic and Bedrock",
        ),
        "trailing-space": Rule(
            "The last message of a history does not end in white space if it is the assistant's.",
            "the white space is cut off",
            "Anthropic",
        ),
        "system-among-messages": Rule(
            "What the system says stands beside the messages.",
            "it is moved there",
            "Anthropic, Gemini, Bedrock and MCP",
        ),
        "same-side-twice": Rule(
            "The user and the assistant speak by turns.", "they are one message", "Bedrock"
        ),
        "half-surrogate": Rule(
            "A text has whole characters.", "U+FFFD stands for half a surrogate pair"
        ),
        "repeated-key": Rule("An object has each key once.", "the last value stays"),
        "empty-content": Rule(
            "What is said is not empty.",
            "it is left out; behind the assistant, a line stands for a turn of the user",
            "Anthropic and Bedrock",
            reason="The user's turn is empty; a line stands for it, so that the history does not "
            "end on the assistant.",
        ),
        "no-beginning": Rule(
            "The user speaks first.",
            "a line is written before it",
            _SPEAKING_FIRST,
            reason="The target wants the user to speak first, who does not; a line stands before "
            "it.",
        ),
        "late-system": Rule(
            "The system speaks before all others.",
            "the user's turn says it, behind a line",
            "Anthropic, Gemini, Bedrock and Mistral",
            reason="The target knows no message of the system here; the user's turn says it, "
            "behind a line.",
        ),
        "no-reply": Rule(
            "The assistant speaks between the results of calls and the user.",
            "a line of the assistant is written before the user's turn",
            "Mistral",
            reason="The target wants the assistant to speak behind the results of calls, which it "
            "does not; a line stands there.",
        ),
        "late-call": Rule(
            "A call stands directly behind the user or behind results.",
            "it is put into the message before it",
            "Gemini",
        ),
        "unsigned-call": Rule(
            "The first call of a message behind the user's newest words is signed.",
            "the signature for calls of other models is written",
            "Gemini 3",
        ),
        "unsigned-thought": Rule(
            "A thought has the signature of its model.", "it is left out", "Anthropic"
        ),
        "misplaced-thought": Rule(
            "A thought is the assistant's, and what the assistant says or calls follows it.",
            "it is left out",
            "Anthropic and OpenAI's Responses",
        ),
        "base64-in-text": Rule("A medium is no part of a text.", "it becomes a medium of its own"),
        "mislabelled-media": Rule(
            "A medium is called what its bytes are.", "its own type is written"
        ),
        "damaged-media": Rule(
            "What stands beside a picture in its file is whole.", "the picture is written anew"
        ),
        "encrypted-media": Rule("A document can be opened.", _STEPS_DOWN),
        "unreadable": Rule("A medium is whole and can be read.", _STEPS_DOWN),
        "expired-link": Rule(
            "A link has not ended.", "a line stands for it", "the link's own parameters"
        ),
        "no-media-here": Rule(
            "Media stand in turns that may hold them.", _STEPS_DOWN, "the target"
        ),
        "type-not-taken": Rule("The target takes the type.", _STEPS_DOWN, "the target", "types"),
        "address-not-taken": Rule(
            "The target loads media from such an address.",
            "a line stands for it; nothing is fetched here",
            "the target",
            "addresses",
        ),
        "too-many-bytes": Rule(
            "A medium has no more base64 than the target takes.",
            _STEPS_DOWN,
            "the target",
            "most_base64",
        ),
        "too-many-pixels": Rule(
            "No side of an image is longer than the target takes.",
            _STEPS_DOWN,
            "the target",
            "most_side",
        ),
        "too-few-pixels": Rule(
            "No side of an image is shorter than the target takes.",
            "a larger image, words, or a line stands for it",
            "Anthropic",
            "least_side",
        ),
        "too-many-media": Rule(
            "There are no more media of a kind than the target takes.",
            "words or a line stand for the oldest",
            "the target",
            "most",
        ),
        "request-too-large": Rule(
            "All media together fit into one request.",
            "smaller images, words or a line stand for the oldest",
            "the target",
        ),
        "evicted": Rule(
            "A history has no more tokens than were asked for.",
            "smaller levels stand for the oldest",
            "`maxTokens`",
        ),
        "folded": _lost(
            "A history has no more tokens than were asked for.",
            "a line stands for a run of old steps",
            "`maxTokens`",
            reason="The conversation has to fit its limits; a line stands for its oldest steps.",
        ),
        "not-accepted": _lost("The type is among what was asked for.", _STEPS_DOWN, "`accept`"),
        "reasoning": _lost(
            "What a model thought is read by its own provider.", "it is left out", "the dialects"
        ),
        "no-place": _lost(
            "What is said has a place in every dialect.", "it is left out", "the dialects"
        ),
        "other-audience": _lost(
            "What is said is for whom the history is.", "it is left out", "`audience` of MCP"
        ),
        "stored-apart": _lost(
            "A result is short enough to be read.", "a preview stands for it", "Pagefault"
        ),
        "text-too-long": _lost(
            "A text is no longer than was asked for, and that of a file than 32,768 characters.",
            "a preview stands for it",
            "`maxText`, Pagefault",
        ),
        "decoded": _lost(
            "A text is in UTF-8.", "it is decoded from the charset that it is in", "Pagefault"
        ),
        "base64-left-out": _lost(
            "A text has words and no files in base64.", "a mark stands for each", "Pagefault"
        ),
        "not-stored": _lost("A medium was stored.", "a line stands for it", "Pagefault"),
    }
)


def coded(code: str) -> tuple[str, str]:
    """Return a code with its reason in the loss account."""
    return code, RULES[code].reason


_LONGEST_QUOTE = 80


def found(
    rule: str,
    pointer: str,
    *,
    limit: int | str | None = None,
    actual: int | str | None = None,
    seq: int | None = None,
    call_id: str | None = None,
) -> Finding:
    """Return a finding, with the texts of its rule."""
    rule_texts = RULES[rule]
    return Finding(
        seq=seq,
        pointer=pointer,
        rule=rule,
        call_id=None if call_id is None else quoted(call_id),
        demands=rule_texts.demands,
        limit=limit,
        actual=actual,
        fix=rule_texts.fix,
        source=rule_texts.source,
    )


def quoted(text: str) -> str:
    """Return a text of the history, shortened and quoted."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"

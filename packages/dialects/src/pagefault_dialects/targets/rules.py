"""The rules of conversations, by code: what each requires, and how a violation is repaired.

Renderings follow the rules, and the loss account names omissions and additions by these codes. The
doctor reports the faults of a history by the same codes, and repairs a history by rendering it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

from pagefault_dialects.model.finding import Finding

MediaLimitName: TypeAlias = Literal[
    "types", "addresses", "max_base64", "max_side", "min_side", "max_count"
]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of conversations, as sentences for people."""

    demands: str
    """The requirement, as a sentence."""
    fix: str
    """The repair, as a sentence."""
    source: str = "every provider"
    """The source of the requirement."""
    limit: MediaLimitName | None = None
    """The field of `MediaRule` that the rule is about, if any."""
    reason: str = ""
    """The reason in the loss account, if it is always the same."""
    is_fault: bool = True
    """True if a violation is a fault of the history."""


_loss_rule = partial(Rule, is_fault=False)
"""A rule whose violation is a loss between dialects, but no fault of the history."""


_USER_FIRST_PROVIDERS = "Anthropic, Gemini and Bedrock"
_REPLACED = "it is replaced by a smaller image, its words, or a line"

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "not-a-message": Rule(
            "Every entry is a message of a known dialect.",
            "it is removed",
            "the dialects",
            reason="It is no message of a known dialect.",
        ),
        "unknown-role": Rule("A role is known to a dialect.", "the role is changed to user"),
        "mixed-dialects": Rule(
            "All messages are of one dialect.", "it is converted to the dialect of the others"
        ),
        "split-calls": Rule(
            "Calls with common results are in one message.", "they are merged into one message"
        ),
        "no-call": Rule(
            "A result answers a call.",
            "a call without arguments is inserted before it",
            reason="The history has no call that this answers; one without arguments stands before "
            "it.",
        ),
        "late-answer": Rule(
            "A result follows its call directly.",
            "a copy of its call is inserted before it",
            reason="The answer came when the conversation had gone on; its call stands before it "
            "once more.",
        ),
        "answered-before": Rule(
            "A call has one result.",
            "the call is removed; the inserted one is kept",
            reason="Its answer was shown before it, behind a call that was written for it, and "
            "stays there.",
        ),
        "duplicate-answer": Rule(
            "A call has one result.",
            "the first one is kept, and the other is removed",
            reason="The call has its result already, which is told once.",
        ),
        "no-answer": Rule(
            "A call has a result before the conversation goes on.",
            "a line is inserted as its result",
            reason="No answer to a call was recorded before the conversation went on; a line "
            "stands for it.",
        ),
        "wrong-order": Rule("A result follows its call directly.", "it is moved there"),
        "duplicate-id": Rule(
            "Ids of calls are unique.",
            "an identical call is removed, and any other id gets a number",
        ),
        "bad-id": Rule(
            "Ids of calls have the characters and the length that the target accepts.",
            "it is replaced, in calls and results alike",
            "the target",
        ),
        "bad-name": Rule(
            "Names of tools have the characters and the length that the target accepts.",
            "it is replaced",
            "the target",
        ),
        "bad-arguments": Rule(
            "The arguments of a call are a JSON object.",
            "they become the member `input` of an object",
        ),
        "unspelled-arguments": Rule(
            "Arguments are the JSON text of an object.", "they are serialised", "OpenAI"
        ),
        "no-id": Rule("A call has an id, and a result that of its call.", "ids are added"),
        "empty-calls": Rule("A list of calls is not empty.", "the list is removed", "OpenAI"),
        "results-not-first": Rule(
            "The results of calls precede other content of the user.",
            "they are moved there",
            "Anthropic and Bedrock",
        ),
        "media-in-result": Rule(
            "The result of a call is text.",
            "its media are moved to a message of the user after the results",
            "OpenAI's Chat Completions",
        ),
        "media-in-error": Rule(
            "The result of a call that failed is text.",
            "its media are moved after the results",
            "Anthropic and Bedrock",
        ),
        "trailing-space": Rule(
            "The last message of a history does not end in white space if it is the assistant's.",
            "the white space is removed",
            "Anthropic",
        ),
        "system-among-messages": Rule(
            "System messages are outside of the list of messages.",
            "it is moved there",
            "Anthropic, Gemini, Bedrock and MCP",
        ),
        "same-side-twice": Rule(
            "Messages of the user and the assistant alternate.", "they are merged", "Bedrock"
        ),
        "no-type": Rule("The type of a block is a word.", "the block becomes text"),
        "half-surrogate": Rule(
            "A text has no half of a surrogate pair.", "it is replaced by U+FFFD"
        ),
        "repeated-key": Rule("The keys of an object are unique.", "the last value is kept"),
        "empty-content": Rule(
            "Content is not empty.",
            "it is removed; a turn of the user after the assistant becomes a line",
            "Anthropic and Bedrock",
            reason="The user's turn is empty; a line stands for it, so that the history does not "
            "end on the assistant.",
        ),
        "no-beginning": Rule(
            "The first message is the user's.",
            "a line is inserted before it",
            _USER_FIRST_PROVIDERS,
            reason="The target wants the user to speak first, who does not; a line stands before "
            "it.",
        ),
        "late-system": Rule(
            "System messages come first.",
            "its text is moved to the turn of the user, after a line",
            "Anthropic, Gemini, Bedrock and Mistral",
            reason="The target knows no message of the system here; the user's turn says it, "
            "behind a line.",
        ),
        "no-reply": Rule(
            "A message of the assistant follows the results of calls.",
            "a line of the assistant is inserted before the turn of the user",
            "Mistral",
            reason="The target wants the assistant to speak behind the results of calls, which it "
            "does not; a line stands there.",
        ),
        "late-call": Rule(
            "A call follows the user or results directly.",
            "it is merged into the message before it",
            "Gemini",
        ),
        "unsigned-call": Rule(
            "The first call of each message after the newest text of the user is signed.",
            "the signature for calls of other models is added",
            "Gemini 3",
        ),
        "unsigned-thought": Rule(
            "A thought has the signature of its model.", "it is removed", "Anthropic"
        ),
        "misplaced-thought": Rule(
            "A thought is the assistant's, and a text or call of the assistant follows it.",
            "it is removed",
            "Anthropic and OpenAI's Responses",
        ),
        "base64-in-text": Rule("A text has no base64 of media.", "it becomes a medium of its own"),
        "mislabelled-media": Rule(
            "The declared type of a medium is that of its bytes.", "the type is corrected"
        ),
        "damaged-media": Rule(
            "The chunks of an image file besides its picture are intact.", "the file is rewritten"
        ),
        "encrypted-media": Rule("A document is not encrypted.", _REPLACED),
        "unreadable": Rule("A medium is complete and can be decoded.", _REPLACED),
        "expired-link": Rule(
            "A link is not expired.", "it is replaced by a line", "the link's own parameters"
        ),
        "no-media-here": Rule("Media are in turns that may have them.", _REPLACED, "the target"),
        "type-not-taken": Rule("The target accepts the type.", _REPLACED, "the target", "types"),
        "address-not-taken": Rule(
            "The target loads media from such an address.",
            "it is replaced by a line; the doctor fetches no URLs",
            "the target",
            "addresses",
        ),
        "too-many-bytes": Rule(
            "The base64 of a medium is within the limit of the target.",
            _REPLACED,
            "the target",
            "max_base64",
        ),
        "too-many-pixels": Rule(
            "Each side of an image is within the limit of the target.",
            _REPLACED,
            "the target",
            "max_side",
        ),
        "too-few-pixels": Rule(
            "No side of an image is shorter than the minimum of the target.",
            "it is replaced by a larger image, its words, or a line",
            "Anthropic",
            "min_side",
        ),
        "too-many-media": Rule(
            "The number of media of a kind is within the limit of the target.",
            "the oldest are replaced by their words or a line",
            "the target",
            "max_count",
        ),
        "request-too-large": Rule(
            "All media together fit into one request.",
            "the oldest are replaced by smaller images, their words or a line",
            "the target",
        ),
        "evicted": Rule(
            "A history is within its limit of tokens.",
            "the oldest parts are replaced by smaller levels",
            "`maxTokens`",
        ),
        "folded": _loss_rule(
            "A history is within its limit of tokens.",
            "a run of old steps is replaced by a line",
            "`maxTokens`",
            reason="The conversation has to fit its limits; a line stands for its oldest steps.",
        ),
        "app": _loss_rule("A page of an app is for people.", "it is removed", "MCP Apps"),
        "collected": _loss_rule(
            "A file is part of the tool's answer.", "a line names it", "`pagefault proxy --collect`"
        ),
        "not-accepted": _loss_rule("The type is among the accepted ones.", _REPLACED, "`accept`"),
        "reasoning": _loss_rule(
            "Thoughts are sent to the provider of their model only.",
            "it is removed",
            "the dialects",
        ),
        "no-place": _loss_rule(
            "Content has a form in every dialect.", "it is removed", "the dialects"
        ),
        "other-audience": _loss_rule(
            "Content is for the audience of the history.", "it is removed", "`audience` of MCP"
        ),
        "stored-apart": _loss_rule(
            "A result is short enough for a model.", "it is replaced by a preview", "Pagefault"
        ),
        "text-too-long": _loss_rule(
            "A text is within its limit, and that of a file within 32,768 characters.",
            "it is replaced by a preview",
            "`maxText`, Pagefault",
        ),
        "decoded": _loss_rule("A text is in UTF-8.", "it is decoded from its charset", "Pagefault"),
        "base64-left-out": _loss_rule(
            "A text has words and no files in base64.", "each is replaced by a mark", "Pagefault"
        ),
        "not-stored": _loss_rule("A medium was stored.", "it is replaced by a line", "Pagefault"),
    }
)


def code_and_reason(code: str) -> tuple[str, str]:
    """Return a code, and the reason of its rule for the loss account."""
    return code, RULES[code].reason


_MAX_QUOTE_CHARS = 80


def make_finding(
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
        call_id=None if call_id is None else shorten_quote(call_id),
        demands=rule_texts.demands,
        limit=limit,
        actual=actual,
        fix=rule_texts.fix,
        source=rule_texts.source,
    )


def shorten_quote(text: str) -> str:
    """Return a text of the history, shortened so that a finding can quote it."""
    return text if len(text) <= _MAX_QUOTE_CHARS else f"{text[: _MAX_QUOTE_CHARS - 1]}…"

"""Requirements of the service: specifications 002, 000 and 001, and the design's record.

A statement is held by the tests that carry its id, `@pytest.mark.requirement("id")`, and by those
named in `covered_by`. One that no release has brought yet is `planned`, with the section of the
specification that brings it. `tests/contract/test_requirements.py` keeps both directions true.
"""

from dataclasses import dataclass

_TYPES = "002, Canonical Types"
_PIPELINE = "002, Sanitization Pipeline"
_HISTORY = "002, Storage & History"
_PRINCIPLES = "002, Design Principles"
_EVENTS = "002, Event Flow & Consumers"
_VIEWER = "002, UI Rendering & Rehydration"
_PAGE_STATE = "000, Current State"
_PAGE_RESULTS = "000, Multi-block Tool Results"
_PAGE_HISTORY = "000, Extend `HistoryMessage.content` type"
_PAGE_ROUTING = "000, Content routing in `_handle_vm_tool`"
_PAGE_ANNOTATION = "000, Compression level annotation"
_PAGE_DOWNLOAD = "000, `/memory page <id> --download`"
_PAGE_DISPLAY = "000, Enhanced modality display in `/memory page`"
_PAGE_LIMITS = "000, What We're NOT Doing"
_FILE = "001, `AttachedFile`"
_PART = "001, `ContentPart`"
_INPUT = "001, `MultiModalInput`"
_INTERACTION = "001, Session Interaction"
_EXAMPLES = "001, Examples"
_DUMP = "001, JSON Serialization"
_RATIONALE = "001, Rationale"
_INTRODUCTION = "001, Multi-Modal Interactions"
_RECORD = "design, Canonical record"
_RULES = "design, Rules of the stages"
_STORAGE = "design, Storage"

_CONFORMANCE = "tests/contract/test_conformance.py::test_case_passes_its_check"
_NORMALIZATION = "packages/dialects/tests/results/"
_SURFACE = "tests/contract/"
_PAGE_CASES = _SURFACE + "test_page_conformance.py::"
_LEVELS = _SURFACE + "test_page_levels_api.py::"
_FAULTS = _SURFACE + "test_page_faults_api.py::"
_DOWNLOADS = _SURFACE + "test_page_downloads_api.py::"
_MESSAGES = _SURFACE + "test_messages_api.py::"
_MESSAGE_MEDIA = _SURFACE + "test_messages_media_api.py::"
_ASKED = _SURFACE + "test_interactions_api.py::"
_ASKED_CASES = _SURFACE + "test_interaction_conformance.py::"
_ASKED_MODELS = "tests/unit/models/test_interaction.py::"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One statement, and what holds the service to it.

    `covered_by` names tests as `path::name`, for those that do not carry the id themselves.
    """

    source: str
    statement: str
    covered_by: tuple[str, ...] = ()
    planned: str | None = None


_SPECIFICATION = {
    "002-parts": Requirement(
        _TYPES,
        "`parts`: `TextPart | ImagePart | FilePart` (no bare strings).",
        (_CONFORMANCE,),
    ),
    "002-media-kind": Requirement(
        _TYPES,
        "Media intent is expressed via `filePart.mediaKind` (`'audio' | 'video' | 'binary'`) and "
        "`mimeType`.",
    ),
    "002-resources": Requirement(
        _TYPES,
        "`resources`: array of `{ uri, kind, mimeType, filename?, mediaKind? }` when blobs are "
        "externalized.",
        (_CONFORMANCE,),
    ),
    "002-meta": Requirement(_TYPES, "`meta`: `{ toolName, toolCallId, success }`."),
    "002-no-audio-or-video-parts": Requirement(
        _TYPES,
        "`AudioPart`/`VideoPart` types are not introduced to keep parity with MCP.",
    ),
    "002-normalization": Requirement(
        _PIPELINE,
        "Pure function converting raw tool payload into valid parts/resources without side "
        "effects.",
        (
            _NORMALIZATION + "test_mcp_results.py::test_input_is_not_changed",
            _NORMALIZATION
            + "test_properties.py::test_normalization_is_deterministic_and_keeps_its_input",
        ),
    ),
    "002-persistence": Requirement(
        _PIPELINE,
        "Stores large media via `ResourceManager`, returning updated parts with `@blob:` refs or "
        "resource descriptors.",
        (_CONFORMANCE,),
    ),
    "002-packaging": Requirement(
        _PIPELINE,
        "Combines normalized parts + persisted resource metadata and returns the canonical shape.",
    ),
    "002-history-typed-message": Requirement(
        _HISTORY,
        "`ContextManager.addToolResult` persists the sanitized payload and writes a fully typed "
        "`tool` message into session history.",
        (_SURFACE + "test_history_api.py::test_message_carries_the_bytes_of_the_record",),
    ),
    "002-history-as-is": Requirement(
        _HISTORY,
        "History API returns stored messages as-is",
        (_SURFACE + "test_history_api.py::test_all_reads_back_byte_for_byte_after_a_restart",),
    ),
    "002-single-source-of-truth": Requirement(
        _PRINCIPLES,
        "Define a canonical `SanitizedToolResult` schema that all layers share.",
    ),
    "002-separate-stages": Requirement(
        _PRINCIPLES,
        "Split structural normalization from blob/resource storage; each stage has a clear "
        "contract.",
    ),
    "002-deterministic-rehydration": Requirement(
        _PRINCIPLES,
        "Stored tool messages must render identically after reload without special-case logic.",
        (_CONFORMANCE,),
    ),
    "002-strong-typing": Requirement(
        _PRINCIPLES,
        "Enforce the schema via TypeScript interfaces and Zod validators, plus regression tests.",
        (
            "tests/e2e/test_generated_client.py::"
            "test_generated_client_creates_and_reads_a_tool_result",
            _SURFACE + "test_documents.py::test_generated_document_is_up_to_date",
        ),
    ),
    "002-content-endpoint": Requirement(
        _VIEWER,
        "Referenced `resources` are fetched via existing `/api/resources/:uri/content` endpoint.",
        (_SURFACE + "test_content_api.py::test_get_answers_as_rfc_9110_says",),
    ),
    "002-media-survive-reload": Requirement(
        _VIEWER,
        "`loadSessionHistory` hydrates identical structures, ensuring videos/audio survive "
        "reloads.",
    ),
    "002-events-carry-the-record": Requirement(
        _EVENTS,
        "emit `llmservice:toolResult` events with `{ toolName, callId, success, sanitized }`.",
    ),
    "002-subscribers-get-the-record-only": Requirement(
        _EVENTS,
        "WebSocket & CLI subscribers forward the sanitized payload only; raw tool responses stay "
        "internal or behind debug logging.",
    ),
    "002-raw-result-behind-a-flag": Requirement(
        _EVENTS,
        "Optional raw payload emission is gated by environment flag "
        "`DECTO_DEBUG_TOOL_RESULT_RAW` (set to `true`/`1` to include `rawResult` for debugging).",
    ),
    "002-viewer-consumes-the-record": Requirement(
        _EVENTS,
        "WebUI `useChat` consumes the new schema directly, removing current normalization code.",
    ),
    "002-viewer-renders-parts": Requirement(
        _VIEWER,
        "Tool result messages in React render from `parts`; video/audio detection uses "
        "`mediaKind` (or `mimeType`) rather than ad-hoc inference.",
    ),
}

_PAGES = {
    "000-typed-content": Requirement(
        _PAGE_STATE,
        "`ImageContent` model: Fields: `caption`, `url`, `base64`, `embedding`; `AudioContent` "
        "model: Fields: `transcript`, `timestamps`, `duration_seconds`; `VideoContent` model: "
        "Fields: `scenes`, `transcript`, `duration_seconds`; `StructuredContent` model: Fields: "
        "`data` (dict), `schema_name`",
        (
            _LEVELS + "test_typed_content_is_what_the_level_holds",
            _PAGE_CASES + "test_typed_content_is_what_the_case_expects",
        ),
    ),
    "000-page-fields": Requirement(
        _PAGE_STATE,
        "`MemoryPage` modality fields: `modality`, `mime_type`, `caption`, `dimensions`, "
        "`duration_seconds`",
        (_SURFACE + "test_pages_api.py::test_every_field_comes_back_as_it_was_sent",),
    ),
    "000-compression-pipeline": Requirement(
        _PAGE_STATE,
        "Compression pipeline: Per-modality: FULL \u2192 REDUCED \u2192 ABSTRACT \u2192 REFERENCE",
        (
            _LEVELS + "test_higher_level_is_never_longer",
            _LEVELS + "test_reduced_image_is_a_smaller_image",
            _PAGE_CASES + "test_levels_are_what_the_case_expects",
        ),
    ),
    "000-multi-part-tool-message": Requirement(
        _PAGE_RESULTS,
        "multi-part content in tool results: `role`, `tool_call_id` and `content` with a `text` "
        'and an `image_url` block, `"detail": "low"`',
        (
            _FAULTS + "test_history_keeps_the_reference_of_an_image_and_no_base64",
            _PAGE_CASES + "test_faulted_page_is_what_the_case_expects",
        ),
    ),
    "000-history-message-content": Requirement(
        _PAGE_HISTORY,
        "content: str | list[dict[str, Any]] | None = None",
        (_MESSAGES + "test_content_that_is_none_is_refused_at_its_place",),
    ),
    "000-list-content-as-is": Requirement(
        _PAGE_HISTORY,
        "preserve list content as-is (no stringification)",
        (
            _FAULTS + "test_history_keeps_the_reference_of_an_image_and_no_base64",
            _FAULTS + "test_message_of_a_fault_is_appended_to_its_session",
            _MESSAGE_MEDIA + "test_any_message_comes_back_as_it_was_sent",
        ),
    ),
    "000-text": Requirement(
        _PAGE_ROUTING,
        'TEXT: Current behaviour \u2014 return `{"type": "text", "text": content}`',
        (
            _LEVELS + "test_typed_content_is_what_the_level_holds",
            _LEVELS + "test_blocks_annotate_the_level",
        ),
    ),
    "000-image": Requirement(
        _PAGE_ROUTING,
        "IMAGE: If `content` starts with `http` \u2192 `[text_block, image_url_block]`. If starts "
        "with `data:` \u2192 `[text_block, image_url_block]`. Otherwise \u2192 text-only with "
        "caption.",
        (
            _LEVELS + "test_stored_image_is_base64_reference_or_data_uri",
            _PAGE_CASES + "test_blocks_are_what_the_case_expects",
        ),
    ),
    "000-audio": Requirement(
        _PAGE_ROUTING,
        "AUDIO: Text block with transcript + duration metadata",
        (
            _LEVELS + "test_blocks_annotate_the_level",
            _PAGE_CASES + "test_blocks_are_what_the_case_expects",
        ),
    ),
    "000-video": Requirement(
        _PAGE_ROUTING,
        "VIDEO: Text block with transcript + scene summaries",
        (_LEVELS + "test_blocks_annotate_the_level",),
    ),
    "000-structured": Requirement(
        _PAGE_ROUTING,
        "STRUCTURED: Text block with JSON-formatted data + schema hint",
        (
            _LEVELS + "test_blocks_annotate_the_level",
            _PAGE_CASES + "test_blocks_are_what_the_case_expects",
        ),
    ),
    "000-single-json-string": Requirement(
        _PAGE_ROUTING,
        "For all other cases (including IMAGE with caption-only), return a single JSON string as "
        "today \u2014 no multi-block needed.",
        (_LEVELS + "test_json_form_is_one_string",),
    ),
    "000-multi-block-only-with-media": Requirement(
        _PAGE_ROUTING,
        "Only use multi-block format when actual media data is available (URL or base64). If the "
        "page has been compressed to ABSTRACT/REFERENCE level (caption only), use text format.",
        (
            _LEVELS + "test_blocks_annotate_the_level",
            _PAGE_CASES + "test_blocks_are_what_the_case_expects",
        ),
    ),
    "000-level-in-the-text-block": Requirement(
        _PAGE_ANNOTATION,
        "Include compression level in the text block so the model knows what it's seeing",
        (
            _LEVELS + "test_blocks_annotate_the_level",
            _PAGE_CASES + "test_blocks_are_what_the_case_expects",
        ),
    ),
    "000-note-on-summaries": Requirement(
        _PAGE_ANNOTATION,
        'Note: This is a compressed summary. Use page_fault("img_001", target_level=0) for full '
        "content.",
        (_LEVELS + "test_blocks_annotate_the_level",),
    ),
    "000-download-flag": Requirement(
        _PAGE_DOWNLOAD,
        "Parse `--download` from the action string (e.g., `/memory page img_001 --download`)",
        (_PAGE_CASES + "test_download_flag_stands_before_or_behind_the_id",),
    ),
    "000-download-url": Requirement(
        _PAGE_DOWNLOAD,
        "For pages with URL content: download to `~/.mcp-cli/downloads/<page_id>.<ext>`",
        (
            _DOWNLOADS + "test_file_behind_a_url_is_fetched",
            _DOWNLOADS + "test_second_download_is_local_even_when_the_origin_is_gone",
        ),
    ),
    "000-download-data-uri": Requirement(
        _PAGE_DOWNLOAD,
        "For pages with base64 data URI: decode and save to file",
        (_DOWNLOADS + "test_page_is_a_file_of_its_kind",),
    ),
    "000-download-text-and-structured": Requirement(
        _PAGE_DOWNLOAD,
        "For text/structured: save as `.txt` or `.json`",
        (
            _DOWNLOADS + "test_page_is_a_file_of_its_kind",
            _PAGE_CASES + "test_download_is_what_the_case_expects",
        ),
    ),
    "000-download-reports-the-path": Requirement(
        _PAGE_DOWNLOAD,
        "Report the saved file path",
        (_PAGE_CASES + "test_download_flag_stands_before_or_behind_the_id",),
    ),
    "000-download-extension": Requirement(
        _PAGE_DOWNLOAD,
        "Extension detection from `mime_type` field on the page, with fallback to `.bin`.",
        (_DOWNLOADS + "test_page_is_a_file_of_its_kind",),
    ),
    "000-detail-view": Requirement(
        _PAGE_DISPLAY,
        "Show modality-specific metadata in the detail view",
        (
            _FAULTS + "test_detail_view_has_a_line_for_every_field",
            _PAGE_CASES + "test_detail_view_is_what_the_case_expects",
        ),
    ),
    "000-no-binary-in-pages": Requirement(
        _PAGE_LIMITS,
        "No binary storage in VM \u2014 pages continue to store URLs/data URIs/captions, not raw "
        "bytes",
        (
            _LEVELS + "test_large_image_costs_no_base64_in_the_record_or_the_lists",
            _PAGE_CASES + "test_blocks_are_what_the_case_expects",
        ),
    ),
    "000-nothing-made-up": Requirement(
        _PAGE_LIMITS,
        "if the original page only has a caption, we can't reconstruct the image",
        (_LEVELS + "test_level_that_is_not_there_says_so",),
    ),
}

_INTERACTIONS = {
    "001-attached-file": Requirement(
        _FILE,
        "Represents a reference to a file that has already been uploaded to a blob storage or "
        "similar system.",
        (
            _ASKED + "test_file_is_attached_by_every_spelling_and_listed_once_each",
            _ASKED + "test_attached_file_cannot_be_deleted_and_its_interaction_is_named",
        ),
    ),
    "001-attached-file-is-a-stable-identifier": Requirement(
        _FILE,
        "It does *not* contain the file content itself, but rather a stable identifier.",
        (
            _ASKED_MODELS + "test_invalid_case_is_refused_at_its_place",
            _ASKED + "test_all_files_that_are_missing_are_named_in_one_answer",
            _ASKED + "test_file_of_another_project_is_missing_in_the_same_words",
        ),
    ),
    "001-content-part": Requirement(
        _PART,
        "A discrete unit of input. A user's turn may consist of multiple parts. A part can contain "
        "text, attachments, or both.",
        (_ASKED_CASES + "test_valid_case_is_stored_as_it_is_dumped",),
    ),
    "001-multi-modal-input": Requirement(
        _INPUT,
        "The container for a rich user turn. This is the top-level object used when an input is "
        "complex.",
        (_ASKED_CASES + "test_valid_case_is_stored_as_it_is_dumped",),
    ),
    "001-one-base": Requirement("001, Data Models", "All models inherit from `CoReasonBaseModel`."),
    "001-strict-and-frozen": Requirement(
        _RATIONALE,
        "we introduce a set of strict, frozen data models",
        (
            _ASKED_MODELS + "test_model_cannot_be_changed",
            _ASKED_MODELS + "test_what_a_model_holds_cannot_be_changed",
            "packages/dialects/tests/model/test_frozen_json.py::"
            "test_frozen_value_contains_no_mutable_value",
            _ASKED_CASES + "test_invalid_case_is_refused_at_its_place",
        ),
    ),
    "001-interleaved": Requirement(
        _INTRODUCTION,
        "rich user inputs (interleaving text with files/images)",
        (_ASKED + "test_scenario_c_keeps_the_parts_and_their_files_in_order",),
    ),
    "001-interaction": Requirement(
        _INTERACTION,
        'captures a single cycle of "User Request -> Assistant Response"',
        (
            _SURFACE + "test_interaction_answers_api.py::test_same_answer_again_changes_nothing",
            _SURFACE + "test_interaction_answers_api.py::test_another_answer_is_a_conflict",
        ),
    ),
    "001-polymorphic-input": Requirement(
        _INTERACTION,
        "Supports strictly typed rich input, legacy simple strings, and legacy dictionaries",
        (_ASKED_MODELS + "test_object_that_is_nearly_a_rich_input_loses_no_key",),
    ),
    "001-input-kind-assertion": Requirement(
        _INTRODUCTION,
        "from relying on simple strings or loose dictionaries to using strictly typed Pydantic "
        "models",
    ),
    "001-timestamp": Requirement(_INTERACTION, "timestamp: datetime"),
    "001-scenario-a": Requirement(
        _EXAMPLES,
        "Scenario A: Simple Text (Legacy)",
        (_ASKED_MODELS + "test_scenario_a_is_a_simple_text",),
    ),
    "001-scenario-b": Requirement(
        _EXAMPLES,
        "Scenario B: Analyze a PDF (Rich)",
    ),
    "001-scenario-c": Requirement(
        _EXAMPLES,
        "Scenario C: Mixed Content (Rich)",
        (_ASKED_MODELS + "test_scenario_c_keeps_the_parts_in_order",),
    ),
    "001-dump": Requirement(
        _DUMP,
        "Because all models inherit from `CoReasonBaseModel`, they serialize cleanly to JSON using "
        "`.dump()`.",
    ),
    "001-dump-shows-the-output": Requirement(
        _DUMP,
        '"output": null',
        (_ASKED_MODELS + "test_output_is_shown_when_there_is_none_and_other_optionals_are_not",),
    ),
}

_DESIGN = {
    "design-resource-once": Requirement(
        _RECORD, "Every distinct resource is listed once, in order of first use.", (_CONFORMANCE,)
    ),
    "design-at-least-one-part": Requirement(
        _RECORD,
        "A result always has at least one part (an empty text part if nothing else).",
    ),
    "design-additions-absent-when-empty": Requirement(
        _RECORD, "Optional additions, absent when empty", (_CONFORMANCE,)
    ),
    "design-inline-limit": Requirement(
        _RULES,
        "Decoded media of 1024 bytes or more is stored; audio and video always are. Smaller images "
        "may stay inline as plain base64. The decision is made on decoded length.",
    ),
    "design-audio-and-video-stored": Requirement(_RULES, "audio and video always are"),
    "design-no-base64-as-text": Requirement(
        _RULES,
        "Base64 never reaches a part as text: not in nested objects, JSON inside strings, data "
        "URIs inside sentences, wrapped, url-safe, unpadded or percent-encoded.",
        (
            _CONFORMANCE,
            _NORMALIZATION
            + "test_properties.py::test_hidden_medium_is_found_once_and_leaves_no_base64_behind",
            _NORMALIZATION + "test_strings.py::test_medium_inside_a_text_is_lifted_out",
        ),
    ),
    "design-structure-keeps-reference": Requirement(
        _RULES,
        "Found inside a structure, the media becomes a part of its own and the structure keeps "
        "`@blob:…` in its place.",
        (
            _NORMALIZATION + "test_records.py::test_media_in_a_record_leave_a_slot_and_follow_it",
            _CONFORMANCE,
        ),
    ),
    "design-looks-like-base64-stays-text": Requirement(
        _RULES,
        "Text that merely looks like base64 (DNA, hex, long identifiers) stays text",
        (
            _NORMALIZATION + "test_strings.py::test_other_text_is_kept_code_point_for_code_point",
            _CONFORMANCE,
        ),
    ),
    "design-every-mcp-block": Requirement(
        _RULES,
        "Every content block of the MCP specifications up to 2026-07-28 is understood",
        (
            _NORMALIZATION + "test_mcp_results.py::test_call_tool_result_is_its_content",
            _CONFORMANCE,
        ),
    ),
    "design-provider-blocks": Requirement(
        _RULES,
        "so are the media blocks of OpenAI, Anthropic, Gemini, Bedrock, LangChain and the Vercel "
        "AI SDK, and plain `{image|video|audio|data, mimeType, filename}` objects.",
        (
            _NORMALIZATION + "test_media_blocks.py::test_block_is_its_medium_at_every_place",
            _CONFORMANCE,
        ),
    ),
    "design-is-error": Requirement(
        "design, HTTP surface",
        "`isError` in an MCP result makes `meta.success` false",
        (_SURFACE + "test_tool_results_api.py::test_error_in_the_result_makes_success_false",),
    ),
    "design-business-record-keeps-fields": Requirement(
        _RULES,
        "A business record that happens to have an `image` or `content` key keeps all its fields.",
        (_NORMALIZATION + "test_records.py::test_record_without_media_keeps_all_its_fields",),
    ),
    "design-nothing-dropped": Requirement(
        "design, The way the data takes",
        "never drops anything: what it does not know becomes readable text or an opaque "
        "`FilePart`, what it cannot decode becomes text plus a warning.",
        (
            _NORMALIZATION
            + "test_properties.py::test_every_scalar_of_any_value_can_be_found_again",
            _NORMALIZATION
            + "test_media_blocks.py::test_undecodable_medium_becomes_text_with_a_warning",
        ),
    ),
    "design-long-text": Requirement(
        _RULES,
        "Long text is previewed, never cut for good: above 8,000 characters the full text is "
        "stored as a text resource and the part carries the first 4,000 and last 1,000 characters "
        "around a line that says how much was left out and which `blob:` holds it.",
    ),
    "design-no-split-grapheme": Requirement(
        _RULES, "No cut splits a surrogate pair or a grapheme."
    ),
    "design-invented-reference-is-text": Requirement(
        _RULES,
        "A reference that a tool wrote itself (`@blob:`, `blob:`) is literal text unless it names "
        "a resource of the same project and session.",
        tuple(
            f"{_SURFACE}test_tool_results_api.py::{name}"
            for name in (
                "test_reference_to_a_resource_of_the_session_resolves",
                "test_reference_of_another_session_is_text",
                "test_reference_of_another_project_is_text",
            )
        ),
    ),
    "design-urls-never-fetched": Requirement(
        _RULES,
        "URLs are never fetched by the pipeline, `javascript:` and `file:` URLs never become "
        "media.",
        (_NORMALIZATION + "test_media_blocks.py::test_other_urls_never_become_media",),
    ),
    "design-bytes-decide": Requirement(
        _RULES,
        "The bytes decide the type: recognised magic bytes win over the declared MIME type.",
        (_SURFACE + "test_resources_api.py::test_bytes_decide_the_type",),
    ),
    "design-markup-never-promoted": Requirement(
        _RULES,
        "HTML, SVG and XML are never promoted by sniffing and never served inline.",
        (
            _SURFACE + "test_resources_api.py::test_markup_is_never_promoted_by_sniffing",
            _SURFACE + "test_content_api.py::test_only_what_runs_nothing_is_shown_in_place",
        ),
    ),
    "design-file-names": Requirement(
        _RULES,
        "File names are base names, printable, at most 255 bytes, extension kept.",
        (
            "packages/dialects/tests/media/test_file_names.py::"
            "test_every_file_name_becomes_short_and_printable_without_a_path",
            "packages/dialects/tests/media/test_file_names.py::test_extension_survives",
            _CONFORMANCE,
        ),
    ),
    "design-integers-exact": Requirement(
        _RULES,
        "Integers of any size survive exactly.",
        (_SURFACE + "test_tool_results_api.py::test_integers_of_any_size_survive",),
    ),
    "design-lone-surrogates": Requirement(
        _RULES,
        "Lone surrogates become U+FFFD with a warning.",
        (_SURFACE + "test_tool_results_api.py::test_lone_surrogates_are_repaired_with_a_warning",),
    ),
    "design-bad-json-is-refused": Requirement(
        _RULES,
        "`NaN`, `Infinity`, bad UTF-8 and nesting past the documented limit (at least 1,000 levels "
        "are accepted) are a 400, 413 or 422 problem, never a 500.",
        (
            _SURFACE + "test_tool_results_api.py::test_json_no_two_readers_agree_on_is_refused",
            _SURFACE + "test_tool_results_api.py::test_result_above_a_limit_leaves_nothing",
            _SURFACE + "test_errors.py::test_deep_result_comes_back_whole",
        ),
    ),
    "design-row-never-without-blob": Requirement(
        _STORAGE,
        "A blob without a row is garbage that a sweep collects; a row without a blob must be "
        "impossible.",
    ),
    "design-both-engines": Requirement(_STORAGE, "No feature works on one only."),
}

REQUIREMENTS: dict[str, Requirement] = {**_SPECIFICATION, **_PAGES, **_INTERACTIONS, **_DESIGN}

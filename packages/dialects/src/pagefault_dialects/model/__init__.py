"""The domain models: parts of results, turns of conversations, pages and render options.

normalized            parts of a tool result, and the media found in it
conversation          turns, and the items that they are made of
render_options, loss  the options of a rendering, and the account of what it leaves out
frontier              how far the history of a session is evicted
media_handles         the handles by which models refer to media
finding               a fault of a history, which the doctor reports
page, page_vectors    memory pages
resource, media       the descriptors of stored files, and media that are not stored yet
tool                  tools that models call
client_ids            ids that clients choose
timestamps            times as RFC 3339 text
base                  the base classes of pydantic models
"""

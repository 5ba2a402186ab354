"""The domain models: parts of results, turns of conversations, pages and render options.

normalized            parts of a tool result, and the media found in it
conversation          turns, and the items that they are made of
render_options, loss  how a conversation is rendered, and what that left out
page, page_vectors    memory pages
resource, media       stored bytes, and bytes on their way
tool                  tools that models call
"""

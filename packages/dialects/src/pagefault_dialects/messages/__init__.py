"""Messages of any dialect: histories are found in bodies and files of hosts, and read as turns.

conversation_reading  a request, a response or a list, with its messages
entry_reading         a single message of a session
reading               a history as a conversation
histories             the messages of a body
message_turns         a message as turns
message_calls         calls and answers
message_content       other content
message_media         strings with media
message_references    references to stored files
"""

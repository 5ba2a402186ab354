"""Messages of any dialect: whole histories found in what a host wrote, and read as turns.

conversation_reading  a request, a response, a list, with each message in it
entry_reading       one message, as it is sent to a session and read again
reading               a history, read as a conversation
histories           its messages, out of whatever stands around them
pydantic_ai       those of Pydantic AI
message_turns       a message as turns
message_calls     what calls a tool, and what answers a call
message_content   what else it says
message_media     which of its strings hold media
message_references    which stored files it refers to
"""

"""Messages of any dialect: whole histories found in what a host wrote, and read as turns.

reading               a history, read as a conversation
histories           its messages, out of whatever stands around them
pydantic_ai       those of Pydantic AI
message_turns       a message as turns
message_calls     what calls a tool, and what answers a call
message_content   what else it says
"""

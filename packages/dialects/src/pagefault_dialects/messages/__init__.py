"""Reading, diagnosis and repair of messages of any dialect.

Reading of bodies and files, from the whole to its parts:

conversation_reading  reads a request, a response or a list of messages that is to be stored
reading               reads a history as a conversation in which calls and results are paired
histories             finds the messages in a body
entry_reading         reads a single message, when it is stored and when it is rendered
message_turns         makes the turns of a message
message_calls         reads the calls and the tool results in a message
message_content       reads other content of a message
provider_blocks       makes items of blocks that only one provider has
native_messages       keeps messages and blocks as they were sent

Other facts about messages:

message_media         finds strings with media, which are moved to the store
message_references    finds references to stored files
comparison            compares a sent conversation with the stored one
diagnosis             lists the faults of a history, with `findings` and `message_faults`
healing               repairs a history
"""

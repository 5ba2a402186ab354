"""Turns of a conversation from stored records; they are the same for all targets.

    record_turns           the turn of a canonical record, which has one tool result
    page_turns             the turn of a page at a level, the result of a page fault
    mirrored_structures    finds out whether structured content repeats the parts of a result
    pairing                puts each result after its call, as every provider requires
    call_index             facts about the calls of a history, by id
    call_results           calls that wait for a result, and results that have no call yet
    sealed_turns           finds the turns of a history that later turns do not change
    handles                adds lines with the names of media and long texts
    text_limits            shortens long texts of results

The package `messages` makes the turns of messages in the dialects of models.
"""

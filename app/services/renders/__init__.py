"""Renderings: stored records as the messages of a model's API, which is called the target.

    renders             one record, or a session, for one target
      session_renders     the history of a session, within a budget of tokens
        new_entries         only the messages after an entry
        session_windows     a session without the entries that its frontier has folded
        session_entries     all entries of a session
      tool_result_renders  the result of one tool call
        turn_resolver       eviction of old turns, and the media ladder
            media_loader        smaller images, texts of files, damage of media

Data flows one way: records → turns → media plan → loaded media → resolved turns → messages → JSON.
"""

"""Renderings: stored records as the messages of the API of a provider, called the *target*.

    renders               a tool result, a page or a session, for one target
      session_renders       a session, within a limit of tokens
        new_entries           only the messages after an entry
        session_windows       a session without its folded entries
        session_entries       all entries of a session
      tool_result_renders   the result of one tool call
        turn_resolver         eviction of old turns, and the media ladder
          media_loader          smaller images, texts of files, damage of media

Data flows one way: records → turns → media plan → loaded media → resolved turns → messages → JSON.
"""

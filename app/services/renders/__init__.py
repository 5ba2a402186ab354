"""Renderings: stored records for any model.

    renders       one record, or a session, for one target; chains what follows
      loading       the entries of a session, and the resources they refer to
      messages        messages of any dialect as turns
        message_calls   calls and answers in them
      gathering     smaller images made, texts and heads read: what the ladder wishes
      sending       the text of a rendering with the bytes of its media

The data goes one way: records → turns → wishes → gathered → settled → messages → text.
"""

"""Renderings: stored records as the messages of any model.

    renders       one record, or a session, for one target; chains what follows
      loading       the entries of a session, and the resources they refer to
      messages        messages of any dialect as turns
        message_calls   calls and answers in them
      media_loader  smaller images made, texts and heads read: what the ladder plans

The data goes one way: records → turns → media plan → loaded media → settled → messages → text.
"""

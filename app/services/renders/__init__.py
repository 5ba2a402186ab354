"""Renderings: stored records as the messages of any model.

    renders            one record, or a session, for one target
      loaded_sessions    the entries of a session as turns, and the resources they refer to
      resolver           eviction, and the media ladder
        media_loader       smaller images, texts of files, damage of media

Data flows one way: records → turns → media plan → loaded media → resolved turns → messages → JSON.
"""

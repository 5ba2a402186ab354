"""Render targets: providers, SDKs and frameworks whose messages Pagefault writes.

    table              the profile of each target: what its requests accept
      profile          the class of these profiles
    opening_turns      lines of text that a target requires between turns
    fitting            the media that cannot be sent unchanged, and the smaller images to make
    ladder             the form of each medium: original, smaller image, text or one line
      medium_forms     a form, and the limits for all media together
      media_lines      the lines of text in place of media, and the target `text`
      native_messages  messages and blocks of the target's own dialect, written as they were sent
    anthropic, …       a module for each target, which writes resolved turns as its messages
      base64_leaves    JSON nodes, in which the base64 of a medium is a leaf
    sequence_rules     the check of messages for the doctor and for tests

The bytes of media are neither read nor made here.
"""

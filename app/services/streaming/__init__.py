"""Bodies with media in them, taken in without being held in memory.

bodies          a body on its way: what is worked on while the rest is coming
json_stream     the scanner: which strings are long, where they end
json_escapes    how a string is escaped in JSON, to be written again byte for byte
held_drafts     drafts of bodies that are in memory as a whole
base64_lines    base64 decoded piece by piece, and written again
long_strings    one long string: its bytes in a draft, its text, its stand-in
requests        bodies of which the media are moved out of values, in drafts
stand_ins       normalization with stand-ins, and drafts in their places
"""

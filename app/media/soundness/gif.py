"""GIF: every block up to the trailer.

Decoders show a file without a trailer that ends behind a picture, and so do we; and after a picture
they take anything that is no block for the end.

Source: GIF89a, sections 17 to 27.
"""

from app.media.soundness.looking import DamagedError, Looking

_HEADER_BYTES = 13
_EXTENSION, _IMAGE, _TRAILER, _PADDING = 0x21, 0x2C, 0x3B, 0x00
_HAS_COLOURS = 0x80
# A sub-block is passed in a fraction of the time that any other structure takes.
_BLOCKS_IN_A_STEP = 10


def judge_gif(file: Looking) -> None:
    """Judge a GIF.

    Raises:
        DamagedError: It was cut, or has no picture.
        NotJudgedError: It is too long to be looked at.
    """
    at = _HEADER_BYTES + _colours(file.piece(10, 1))
    pictures = 0
    while True:
        file.step()
        introducer = file.piece(at, 1)
        if not introducer:
            break
        if introducer[0] == _EXTENSION:
            at = _past_blocks(file, at + 2)
        elif introducer[0] == _IMAGE:
            colours = _colours(file.piece(at + 9, 1))
            # One byte says how long the codes are.
            at = _past_blocks(file, at + 10 + colours + 1)
            pictures += 1
        elif introducer[0] == _PADDING:
            at += 1
        else:
            break
    if not pictures:
        raise DamagedError("it has no picture")


def _colours(packed: bytes) -> int:
    """How many bytes the colours take that a packed byte announces."""
    if not packed:
        raise DamagedError("it ends inside of a header")
    return 3 << ((packed[0] & 7) + 1) if packed[0] & _HAS_COLOURS else 0


def _past_blocks(file: Looking, at: int) -> int:
    """Where the sub-blocks end that begin at `at`."""
    while True:
        window = file.window(at)
        if not window:
            raise DamagedError("it ends inside of a block")
        here, length, blocks = 0, len(window), 0
        while here < length:
            size = window[here]
            here += size + 1
            blocks += 1
            if not size:
                return at + here
        file.step(1 + blocks // _BLOCKS_IN_A_STEP)
        at += here

"""Stored media in a JSON text that is still to be written: a mark stands for each until it is."""

import re
import secrets

from app.models.rendering import JsonPiece, MediaPiece, TextPiece


class MediaPlaces:
    """The stored media of one JSON text, and the marks that stand for them.

    A mark is put into a string of the value. It has only characters that JSON leaves alone, and
    nobody can guess it, so that it stands in the text as it is and nothing else looks like it.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._media: list[MediaPiece | TextPiece] = []

    def mark(self, piece: MediaPiece | TextPiece) -> str:
        """Return what stands in a string for the characters of a medium."""
        self._media.append(piece)
        return f"{self._mark}:{len(self._media) - 1};"

    def pieces(self, text: bytes) -> list[JsonPiece]:
        """Return the text in pieces: bytes first and last, and a medium between each two."""
        split: list[JsonPiece] = []
        for index, piece in enumerate(re.split(rb"%s:(\d+);" % self._mark.encode(), text)):
            # Every second one is what was found: the number of a medium.
            split.append(self._media[int(piece)] if index % 2 else piece)
        return split

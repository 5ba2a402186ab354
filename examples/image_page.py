"""The demonstration of specification 000: an image page is stored, faulted in, and checked.

    python examples/image_page.py shot.png

It stores the picture as a memory page, or one of its own without a path, and asks for it as a model
does. The tool message has two blocks: a text that says what the page is, and the image itself.

It needs the package `pagefault-client` and a running Pagefault: at PAGEFAULT_URL, or at
http://127.0.0.1:8000. PAGEFAULT_API_KEY is a key of it, if it asks for one.
"""

import argparse
import base64
import mimetypes
import sys
from pathlib import Path

from pagefault_client import Pagefault, PagefaultError

PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
)


def main(path):
    """Store a picture as a page, fault it in, and compare its two blocks with what was stored."""
    mime_type, data = "image/png", PICTURE
    if path is not None:
        mime_type = mimetypes.guess_type(path)[0] or "image/png"
        data = base64.b64encode(path.read_bytes()).decode()
    picture = f"data:{mime_type};base64,{data}"
    with Pagefault() as memory:
        memory.pages.put("img_001", modality="image", content=picture)
        message = memory.pages.fault("img_001", 0, tool_call_id="call_abc")
    expected = [
        {"type": "text", "text": "Page img_001 (image, FULL):\n  [image attached below]"},
        {"type": "image_url", "image_url": {"url": picture, "detail": "low"}},
    ]
    if message != {"role": "tool", "tool_call_id": "call_abc", "content": expected}:
        sys.exit(f"The page was not given as the specification has it: {message}")
    print(f"{expected[0]['text']}\n{picture[:40]}…")


parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("path", nargs="?", type=Path, metavar="PATH", help="an image")
try:
    main(parser.parse_args().path)
except (PagefaultError, OSError) as error:
    sys.exit(f"{type(error).__name__}: {error}")

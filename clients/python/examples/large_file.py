"""Upload a large file in pieces, and read a part of it: python large_file.py [FILE].

It needs a running Pagefault at PAGEFAULT_URL, or at http://127.0.0.1:8000. PAGEFAULT_API_KEY is a
key of it, if it asks for one.
"""

import argparse
import io
import sys
import zipfile
from random import Random

from pagefault_client import Pagefault, PagefaultError, UploadProgress


def archive_of_reports() -> io.BytesIO:
    """Make a zip of twelve megabytes, if no file is given."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("noise.bin", Random(1).randbytes(12_000_000))  # noqa: S311 - no secret
        archive.writestr("report.txt", "Ten sheep.")
    made.seek(0)
    return made


def show(progress: UploadProgress) -> None:
    """Print how far it is. With its id, another process can go on where this one ended."""
    print(f"{progress.sent * 100 // progress.total} % of upload {progress.upload_id}")


def main(source: str | io.BytesIO) -> None:
    """Upload a zip, and list what is in it."""
    with Pagefault() as pf:
        stored = pf.resources.upload(source, filename="reports.zip", on_progress=show)
        print(stored["uri"], stored["size"], "bytes")

        # A file of the standard library: only the parts that are read are fetched.
        with pf.resources.open(stored["uri"]) as file, zipfile.ZipFile(file) as archive:
            print(archive.namelist())

        print(pf.resources.signed_url(stored["uri"], expires_in_seconds=60)["url"].split("?")[0])


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file", nargs="?", metavar="FILE", help="a zip; one is made by default")
try:
    main(parser.parse_args().file or archive_of_reports())
except (PagefaultError, OSError, zipfile.BadZipFile) as error:
    sys.exit(f"{type(error).__name__}: {error}")

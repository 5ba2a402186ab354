"""The commands of the package's README."""

import re
from pathlib import Path

from tests.kit.loaded_command import LoadedCommand

README = Path(__file__).parents[1] / "README.md"


def test_commands_of_the_front_page_do_what_it_says(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    page = README.read_text()
    (request,) = re.findall(r"^```json\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "request.json").write_text(request)
    commands = re.findall(r"^\$ pagefault (.*)$", page, re.MULTILINE)
    done = [pagefault.run(*command.split(), folder=tmp_path) for command in commands]
    assert [item.returncode for item in done] == [1, 0, 0]
    assert "/messages/1" in done[0].stderr
    assert "no-call" in done[0].stderr

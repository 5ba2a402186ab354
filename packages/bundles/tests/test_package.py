"""The example of the package's README."""

import doctest
from pathlib import Path

import pytest

from tests.kit.servers import LiveService

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.engines("embedded")
def test_example_of_the_front_page_does_what_it_says(service: LiveService) -> None:
    with service.client() as source, service.client() as target:
        clients = {"source": source, "target": target}
        failed, tried = doctest.testfile(str(README), module_relative=False, globs=clients)
    assert (failed, tried > 0) == (0, True)

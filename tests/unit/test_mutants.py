"""`make mutants` tries a module with the tests beside it."""

import pytest

from tests.kit.process import ROOT
from tests.mutants import find_tests, group, modules


@pytest.mark.parametrize(
    ("name", "module", "tests"),
    [
        (
            "json/pointers",
            "packages/dialects/src/pagefault_dialects/json/pointers.py",
            (
                "packages/dialects/tests/json/test_pointer_scanner.py",
                "packages/dialects/tests/json/test_pointers.py",
            ),
        ),
        (
            "records/database_threads",
            "app/stores/records/database_threads.py",
            ("tests/integration/test_database_threads.py",),
        ),
    ],
)
def test_module_is_tried_with_the_tests_that_import_it(
    name: str, module: str, tests: tuple[str, ...]
) -> None:
    (found,) = modules([name])
    assert (str(found.relative_to(ROOT)), find_tests(found)) == (module, tests)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("dialects/vercel", "dialects"),
        ("soundness/pictures", "media"),
        ("targets/table", "targets"),  # Some import a constant.
    ],
)
def test_module_that_no_test_imports_is_tried_with_all_tests_beside_it(
    name: str, folder: str
) -> None:
    (module,) = modules([name])
    files = sorted((ROOT / "packages" / "dialects" / "tests" / folder).glob("test_*.py"))
    assert find_tests(module) == tuple(str(path.relative_to(ROOT)) for path in files)


def test_modules_with_the_same_tests_share_a_run() -> None:
    names = ["results/structures", "json/pointers", "results/result"]
    found = [[module.stem for module in tried] for _, tried in group([*modules(names)])]
    assert sorted(found) == [["pointers"], ["result", "structures"]]

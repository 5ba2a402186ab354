"""Languages are found by their names, MIME types and extensions, and written as extensions."""

import pytest

from pagefault_dialects.media.code_languages import (
    extension_of_language,
    find_language,
    language_of_extension,
    language_of_type,
)


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("python", "python"),
        (" Python3\n", "python"),
        ("C#", "csharp"),
        ("c++", "cpp"),
        ("shell", "bash"),
        ("go", "go"),
        ("golang", "go"),
        ("cs", None),
        ("ts", None),
        ("", None),
        ("klingon", None),
        (None, None),
        (["python"], None),
    ],
)
def test_language_has_a_name_and_aliases(name: object, language: str | None) -> None:
    assert find_language(name) == language


@pytest.mark.parametrize(
    ("mime_type", "language"),
    [
        ("text/x-python", "python"),
        ("application/x-ruby", "ruby"),
        ("application/vnd.dart", "dart"),
        ("text/x-c++src", "cpp"),
        ("text/html", "html"),
        ("image/x-python", None),
        ("text/x-klingon", None),
        ("text/x-python; charset=utf-8", None),
        ("text/x-PYTHON", None),
    ],
)
def test_mime_type_has_a_language(mime_type: str, language: str | None) -> None:
    assert language_of_type(mime_type) == language


@pytest.mark.parametrize(
    ("extension", "language"),
    [("py", "python"), ("go", "go"), ("h", "c"), ("htm", "html"), (".py", None), ("txt", None)],
)
def test_extension_has_a_language(extension: str, language: str | None) -> None:
    assert language_of_extension(extension) == language


@pytest.mark.parametrize(
    ("language", "extension"),
    [("python", ".py"), ("html", ".html"), ("c", ".c"), ("bash", ".sh"), ("fsharp", ".fs")],
)
def test_language_has_a_usual_extension(language: str, extension: str) -> None:
    assert extension_of_language(language) == extension

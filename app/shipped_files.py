"""Paths of files of the service that are not modules: migrations and the built viewer.

In a checkout they are beside the package. A wheel has only the package, so `package_build.py`
copies them into a folder of it, under the same names.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_IN_A_WHEEL = _PACKAGE / "shipped"
_ROOT = _IN_A_WHEEL if _IN_A_WHEEL.is_dir() else _PACKAGE.parent

MIGRATIONS = _ROOT / "migrations"
BUILT_VIEWER = _ROOT / "web" / "dist"
"""The output folder of the viewer's build."""

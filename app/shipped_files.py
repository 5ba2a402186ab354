"""Paths of files of the service that are not modules: migrations and the built viewer.

In a checkout, these files are beside the package. A wheel has only the package, so
`package_build.py` copies them into the folder `shipped` of the package, under the same names.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = _PACKAGE / "shipped"
_ROOT = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent

MIGRATIONS = _ROOT / "migrations"
BUILT_VIEWER = _ROOT / "web" / "dist"
"""The output folder of the viewer's build."""

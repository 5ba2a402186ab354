"""Where the files are that are part of the service and no modules: migrations, the built viewer.

In a checkout they are beside the package, where they are written and built. A wheel has only the
package, so `package_build.py` puts them into a folder of it, under the same names.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_IN_A_WHEEL = _PACKAGE / "shipped"
_ROOT = _IN_A_WHEEL if _IN_A_WHEEL.is_dir() else _PACKAGE.parent

MIGRATIONS = _ROOT / "migrations"
BUILT_VIEWER = _ROOT / "web" / "dist"
"""Where the build puts the viewer."""

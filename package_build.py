"""Puts the migrations and the built viewer into the packages; see `app/shipped_files.py`.

The viewer is not in the repository, so it has to be built before: `make web`. The source
distribution has it too, so that a wheel can be made of that without Node.js.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SHIPPED = ("migrations", "web/dist")


class PackageBuildHook(BuildHookInterface[Any]):
    """The hook that hatchling calls before it makes a source distribution or a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to a wheel; end the build if there is no viewer.

        An editable install finds them where they are, and may be made before the viewer is.
        """
        if version == "editable":
            return
        if not (Path(self.root) / "web" / "dist" / "index.html").is_file():
            self.app.abort(
                "The viewer is not built: there is no web/dist/index.html. Run `make web` and "
                "build again; no package is made without its viewer."
            )
        if self.target_name == "wheel":
            build_data["force_include"] |= {name: f"app/shipped/{name}" for name in _SHIPPED}

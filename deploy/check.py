"""Check the examples of `deploy/` with the programs that read them.

    python -m deploy.check

A check whose program is not installed is not run, and named at the end: promtool (in Debian's
package `prometheus`), systemd-analyze (in `systemd`), nginx, caddy. The first error ends the run.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import yaml

from tests.kit.certificates import Authority

DEPLOY: Final = Path(__file__).parent
ROOT: Final = DEPLOY.parent
_PLACES: Final = (
    f"{os.environ.get('PATH', '')}:/usr/sbin:{ROOT / '.venv' / 'nginx' / 'usr' / 'sbin'}"
)
_KUBERNETES: Final = ROOT / ".venv" / "deploy" / "bin" / "kubernetes-validate"
_NGINX: Final = """
pid {folder}/nginx.pid;
events {{}}
http {{
    ssl_certificate {certificate};
    ssl_certificate_key {key};
{servers}
}}
"""


def main() -> None:
    """Run every check, and print what was not run."""
    missing = [name for name, check in CHECKS.items() if not _passes(name, check)]
    for name in missing:
        sys.stderr.write(f"NOT RUN: the check of {name}, since the program is not installed.\n")


def _passes(name: str, check: Callable[[Path], bool]) -> bool:
    with tempfile.TemporaryDirectory(prefix="deploy-check-") as folder:
        was_run = check(Path(folder))
    if was_run:
        sys.stdout.write(f"{name}: correct\n")
    return was_run


def check_kubernetes(_: Path) -> bool:
    """Check each manifest against the schemas of Kubernetes."""
    manifests = sorted(
        str(path) for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.stem != "kustomization"
    )
    return _run(str(_KUBERNETES), "--strict", "--quiet", *manifests)


def check_prometheus(_: Path) -> bool:
    """Check the configuration of Prometheus and its rules."""
    return _run("promtool", "check", "config", str(DEPLOY / "prometheus" / "prometheus.yml"))


def check_alerts(_: Path) -> bool:
    """Check that figures of a fault raise each alert, and those of a sound service none."""
    return _run("promtool", "test", "rules", str(DEPLOY / "prometheus" / "rules-test.yml"))


def check_dashboard(folder: Path) -> bool:
    """Check the expressions of the dashboard, as rules."""
    dashboard = json.loads((DEPLOY / "grafana" / "pagefault.json").read_text())
    rules = [
        {"record": f"panel_{panel['id']}_{target['refId']}", "expr": _with_values(target["expr"])}
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]
    file = folder / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    return _run("promtool", "check", "rules", str(file))


def _with_values(expression: str) -> str:
    return expression.replace("$__rate_interval", "5m").replace("$instance", ".*")


def check_nginx(folder: Path) -> bool:
    """Check the server with the location of the files, and that of the content host."""
    example, blobs, content_host = (
        (DEPLOY / "nginx" / f"{name}.conf").read_text()
        for name in ("pagefault", "blobs", "content-host")
    )
    servers = "".join([example.removesuffix("}\n"), blobs, "}\n", content_host])
    certificate, key = Authority(folder).issue("media.example.com")
    config = folder / "nginx.conf"
    config.write_text(
        _NGINX.format(
            folder=folder,
            certificate=certificate,
            key=key,
            servers=servers.replace("listen 443 ssl", "listen 127.0.0.1:8443 ssl"),
        )
    )
    return _run("nginx", "-t", "-q", "-e", "stderr", "-p", str(folder), "-c", str(config))


def check_caddy(_: Path) -> bool:
    """Check the Caddyfile."""
    config = str(DEPLOY / "caddy" / "Caddyfile")
    return _run("caddy", "validate", "--adapter", "caddyfile", "--config", config)


def check_systemd(folder: Path) -> bool:
    """Check the unit, with a program that exists."""
    unit = (DEPLOY / "systemd" / "pagefault@.service").read_text()
    file = folder / "pagefault@8001.service"
    file.write_text(re.sub(r"(?<=^ExecStart=)\S+", sys.executable, unit, flags=re.MULTILINE))
    # A misspelt directive is only printed.
    return _run("systemd-analyze", "verify", "--man=no", str(file), prints_errors_only=True)


def _run(program: str, *arguments: str, prints_errors_only: bool = False) -> bool:
    """Run a program; return whether it is installed.

    Raises:
        SystemExit: The program has found an error, which is printed.
    """
    command = shutil.which(program, path=_PLACES)
    if command is None:
        return False
    done = subprocess.run(  # noqa: S603 - our own arguments
        [command, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode or (prints_errors_only and done.stderr):
        sys.exit(f"{program} {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return True


CHECKS: Final = {
    "kubernetes with kubernetes-validate": check_kubernetes,
    "prometheus with promtool": check_prometheus,
    "alerts with promtool": check_alerts,
    "grafana with promtool": check_dashboard,
    "nginx with nginx -t": check_nginx,
    "caddy with caddy validate": check_caddy,
    "systemd with systemd-analyze verify": check_systemd,
}

if __name__ == "__main__":
    main()

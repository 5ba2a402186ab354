"""The examples of `deploy/`: what they name exists, and what they promise is so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.settings import Settings, list_variables
from app.models.limits import MIB, Limits
from app.server.uvicorn_config import create_server_config
from app.telemetry.metrics import Metrics
from app.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
RULES = DEPLOY / "prometheus" / "rules.yml"
DASHBOARD = DEPLOY / "grafana" / "pagefault.json"
# Of Prometheus itself and of its exporter for machines.
FOREIGN_METRICS = {"up", "node_filesystem_avail_bytes"}
_METRIC = re.compile(r"\b((?:pagefault|process|node)_[a-z_]+|up)(?=[{\[ ])")
_PARTS_OF_HISTOGRAMS = re.compile(r"_(?:bucket|count|sum)$")


def manifest(name: str) -> dict[str, Any]:
    """A manifest of Kubernetes."""
    loaded: dict[str, Any] = yaml.safe_load((KUBERNETES / f"{name}.yaml").read_text())
    return loaded


def pod(name: str) -> dict[str, Any]:
    """The pod of a Deployment or a Job."""
    spec: dict[str, Any] = manifest(name)["spec"]["template"]["spec"]
    return spec


def alerts() -> dict[str, str]:
    """The expressions of all alerts, by name."""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def metrics_of(expressions: list[str]) -> set[str]:
    """All metrics that expressions name."""
    return {name for expression in expressions for name in _METRIC.findall(expression)}


def own_metrics() -> set[str]:
    """All names in the answer of `/metrics`."""
    return set(re.findall(r"^# TYPE (\w+) ", Metrics().exposition().decode(), re.MULTILINE))


def test_every_setting_exists() -> None:
    known = {name for name, _ in list_variables(Settings)}
    named = {
        name
        for path in DEPLOY.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
        for name in re.findall(r"\bPAGEFAULT_[A-Z0-9_]*[A-Z0-9]\b", path.read_text())
    }
    assert "PAGEFAULT_DB__URL" in named
    assert named - known == set()


@pytest.mark.parametrize("source", [RULES, DASHBOARD], ids=["rules", "dashboard"])
def test_every_metric_exists(source: Path) -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    expressions = {
        RULES: list(alerts().values()),
        DASHBOARD: [target["expr"] for panel in panels for target in panel["targets"]],
    }[source]
    named = {_PARTS_OF_HISTOGRAMS.sub("", name) for name in metrics_of(expressions)}
    assert len(named) > 5
    assert named - FOREIGN_METRICS - own_metrics() == set()


def test_dashboard_shows_every_metric_but_constants() -> None:
    text = DASHBOARD.read_text()
    shown = {name for name in own_metrics() if name in text}
    assert {
        name for name in own_metrics() - shown if not name.endswith(("_created", "_blobs_total"))
    } <= {
        "process_max_fds",
        "process_open_fds",
        "process_start_time_seconds",
        "process_virtual_memory_bytes",
    }


def test_every_alert_has_a_paragraph_and_no_paragraph_is_about_another() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    assert re.findall(r"^\*\*(Pagefault\w+)\.\*\* \S", page, re.MULTILINE) == list(alerts())


def test_every_alert_is_tried() -> None:
    tried = re.findall(r"alertname=\"(\w+)\"", RULES.with_name("rules-test.yml").read_text())
    assert set(tried) == set(alerts())


def test_kustomization_has_every_manifest_and_the_version_of_the_service() -> None:
    kustomization = manifest("kustomization")
    files = {path.name for path in KUBERNETES.glob("*.yaml")}
    assert {*kustomization["resources"], "kustomization.yaml"} == files
    (image,) = kustomization["images"]
    assert image["newTag"] == VERSION
    # A Job cannot be changed: each version has one of its own.
    assert manifest("migration")["metadata"]["name"] == f"pagefault-migrate-{VERSION}"


@pytest.mark.parametrize("name", ["deployment", "migration"])
def test_pods_run_without_rights_and_write_nowhere_but_in_their_volumes(name: str) -> None:
    spec = pod(name)
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert f"--uid {spec['securityContext']['runAsUser']} " in (ROOT / "Dockerfile").read_text()
    assert spec["enableServiceLinks"] is spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {volumeMount["mountPath"] for volumeMount in container["volumeMounts"]} == {
        "/var/lib/pagefault",
        "/tmp",  # noqa: S108 - of the container
    }


def test_pod_has_the_memory_that_operations_asks_for() -> None:
    settings = dict(
        line.split("=", 1)
        for line in (KUBERNETES / "settings.env").read_text().splitlines()
        if not line.startswith("#")
    )
    (container,) = pod("deployment")["containers"]
    budget = int(settings["PAGEFAULT_LIMITS__MEMORY_BYTES"])
    limit = int(container["resources"]["limits"]["memory"].removesuffix("Mi")) * MIB
    assert limit >= 210 * MIB + 1.25 * budget


def test_pod_may_finish_its_requests_before_it_is_killed() -> None:
    spec = pod("deployment")
    (container,) = spec["containers"]
    command, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
    shutdown = create_server_config(Settings()).timeout_graceful_shutdown
    assert command == "sleep"
    assert shutdown is not None
    assert spec["terminationGracePeriodSeconds"] >= int(seconds) + shutdown + 10
    unit = (DEPLOY / "systemd" / "pagefault@.service").read_text()
    (stop,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert int(stop) >= shutdown + 10


def test_unit_allows_the_connections_of_the_settings() -> None:
    unit = (DEPLOY / "systemd" / "pagefault@.service").read_text()
    (files,) = re.findall(r"^LimitNOFILE=(\d+)$", unit, re.MULTILINE)
    limits = Limits()
    assert int(files) > limits.connections_at_once + limits.requests_at_once

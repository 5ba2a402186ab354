"""The table of metrics, generated from their registry."""

from prometheus_client import Metric

from app.telemetry.metrics import Metrics

_HEAD = "| metric | type | labels | meaning |\n|---|---|---|---|\n"


def update_metrics_table(page: str) -> str:
    """Return the page with an updated table: name, type, labels and meaning of each metric."""
    metrics = Metrics()
    rows = [_row(field, metrics.labels.get(field.name, ())) for field in metrics.collect()]
    before, _, table = page.partition(_HEAD)
    rest = table.partition("\n\n")[2]
    return f"{before}{_HEAD}{''.join(sorted(rows))}\n{rest}"


def _row(metric: Metric, labels: tuple[str, ...]) -> str:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    named = ", ".join(f"`{label}`" for label in labels)
    return f"| `{name}` | {metric.type} | {named} | {metric.documentation} |\n"

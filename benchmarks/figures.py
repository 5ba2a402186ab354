"""What a benchmark hands back: figures, each beside a baseline of the same run.

Every measuring module of this folder has `async def measure(scale: Scale) -> Sequence[Figure]`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeVar

_T = TypeVar("_T")


class WrongAnswerError(Exception):
    """The service, or a baseline, did not answer what it should have: there is no figure."""


class Scale(Enum):
    """How much is measured: all of it, or just enough to see that everything runs."""

    FULL = "full"
    SMOKE = "smoke"

    def pick(self, full: _T, smoke: _T) -> _T:
        """The one of two that belongs to this scale."""
        return full if self is Scale.FULL else smoke


@dataclass(frozen=True, slots=True)
class Aim:
    """What a figure is to reach: a bound of its ratio to the baseline, or of its value."""

    of: Literal["ratio", "value"]
    bound: float
    is_upper: bool

    @property
    def text(self) -> str:
        """As it stands in the table: `ratio ≥ 0.5`, `≤ 250`."""
        sign = "≤" if self.is_upper else "≥"
        return f"{'ratio ' if self.of == 'ratio' else ''}{sign} {self.bound:g}"

    def is_met_by(self, value: float) -> bool:
        """Whether a ratio, or a value, keeps the bound."""
        return value <= self.bound if self.is_upper else value >= self.bound


def ratio_at_least(bound: float) -> Aim:
    """For what is better the higher it is, beside its baseline."""
    return Aim("ratio", bound, is_upper=False)


def ratio_at_most(bound: float) -> Aim:
    """For what is better the lower it is, beside its baseline."""
    return Aim("ratio", bound, is_upper=True)


def value_at_most(bound: float) -> Aim:
    """For what has a bound of its own, in the figure's unit."""
    return Aim("value", bound, is_upper=True)


def value_at_least(bound: float) -> Aim:
    """The same for what is better the higher it is."""
    return Aim("value", bound, is_upper=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number."""

    group: str
    """What its section is named after: the module that measures it, such as `lookups`."""
    name: str
    """What was measured; together with the group, the key of its note."""
    value: float
    unit: str
    baseline: float | None = None
    """The same of what it stands beside, in the same unit and from the same run."""
    baseline_name: str = ""
    aim: Aim | None = None
    detail: str = ""
    """What else is worth a word: other quantiles, the spread of the rounds."""

    @property
    def ratio(self) -> float | None:
        """The value as a multiple of the baseline."""
        return self.value / self.baseline if self.baseline else None

    @property
    def is_met(self) -> bool | None:
        """Whether the aim is; `None` where there is none."""
        if self.aim is None:
            return None
        judged = self.ratio if self.aim.of == "ratio" else self.value
        return judged is not None and self.aim.is_met_by(judged)

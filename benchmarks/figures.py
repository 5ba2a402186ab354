"""Results of a benchmark: figures, each beside a baseline of the same run.

Every measuring module of this folder has `async def measure(scale: Scale) -> Sequence[Figure]`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeVar

_T = TypeVar("_T")


class WrongAnswerError(Exception):
    """The service, or a baseline, gave a wrong answer, so there is no figure."""


class Scale(Enum):
    """The extent of a run: all of it, or just enough to see that everything runs."""

    FULL = "full"
    SMOKE = "smoke"

    def pick(self, full: _T, smoke: _T) -> _T:
        """The one of two that belongs to this scale."""
        return full if self is Scale.FULL else smoke


@dataclass(frozen=True, slots=True)
class Aim:
    """The aim of a figure: a bound of its ratio to the baseline, or of its value."""

    of: Literal["ratio", "value"]
    bound: float
    is_upper: bool

    @property
    def text(self) -> str:
        """As it stands in the table: `ratio ≥ 0.5`, `≤ 250`."""
        sign = "≤" if self.is_upper else "≥"
        return f"{'ratio ' if self.of == 'ratio' else ''}{sign} {self.bound:g}"

    def is_met_by(self, value: float) -> bool:
        """Return whether a ratio, or a value, keeps the bound."""
        return value <= self.bound if self.is_upper else value >= self.bound


def ratio_at_least(bound: float) -> Aim:
    """Return the aim of a ratio that is better if it is higher."""
    return Aim("ratio", bound, is_upper=False)


def ratio_at_most(bound: float) -> Aim:
    """Return the aim of a ratio that is better if it is lower."""
    return Aim("ratio", bound, is_upper=True)


def value_at_most(bound: float) -> Aim:
    """Return the aim of a value, in the figure's unit."""
    return Aim("value", bound, is_upper=True)


def value_at_least(bound: float) -> Aim:
    """Return the aim of a figure that is better if it is higher."""
    return Aim("value", bound, is_upper=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number."""

    group: str
    """The name of its section: the module that measures it, such as `lookups`."""
    name: str
    """The measured quantity; together with the group, the key of its note."""
    value: float
    unit: str
    baseline: float | None = None
    """The value of the baseline, in the same unit and from the same run."""
    baseline_name: str = ""
    aim: Aim | None = None
    detail: str = ""
    """Details: other quantiles, the spread of the rounds."""

    @property
    def ratio(self) -> float | None:
        """The value as a multiple of the baseline."""
        return self.value / self.baseline if self.baseline else None

    @property
    def is_met(self) -> bool | None:
        """True if the aim is reached; `None` without an aim."""
        if self.aim is None:
            return None
        judged = self.ratio if self.aim.of == "ratio" else self.value
        return judged is not None and self.aim.is_met_by(judged)

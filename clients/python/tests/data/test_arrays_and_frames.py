"""Arrays and data frames of NumPy, pandas, Polars and PyArrow are stored whole."""

import datetime
import io
import json
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pagefault_client import Pagefault, Session, UnstorableError
from pagefault_client.values import jsonable

MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 6)


def test_arrays_and_scalars_become_their_values() -> None:
    record = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
    made = jsonable(
        {
            "matrix": np.eye(2),
            "scalars": [np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a"), np.array(5)],
            "times": np.array(["2026-01-02T03:04:05.000000006"], dtype="M8[ns]"),
            "complex": np.array([1 + 2j]),
            "long": np.longdouble("0.1"),
            "masked": np.ma.array([1, 2], mask=[False, True]),
            "objects": np.array([{"a": None}, b"ab"], dtype=object),
            "records": record,
            "record": record[0],
            "arrow": [pa.array([1, None]), pa.scalar({"a": 1}), pa.chunked_array([[1], [2]])],
            np.int64(7): np.array([], dtype="f4"),
        }
    )
    assert made == {
        "matrix": [[1.0, 0.0], [0.0, 1.0]],
        "scalars": [3, 0.5, True, "a", 5],
        "times": ["2026-01-02T03:04:05.000000006"],
        "complex": ["(1+2j)"],
        "long": "0.1",
        "masked": [1, None],
        "objects": [{"a": None}, "data:application/octet-stream;base64,YWI="],
        "records": {"a": [1], "b": [2.5]},
        "record": {"a": 1, "b": 2.5},
        "arrow": [[1, None], {"a": 1}, [1, 2]],
        "7": [],
    }


def test_large_array_is_stored_whole_beside_its_preview(pf: Pagefault, session: Session) -> None:
    numbers = np.linspace(0, 1, 20_000)
    made = session.tool_result("measure", "call_1", numbers)
    (part,), (resource,) = made["sanitized"]["parts"], made["sanitized"]["resources"]
    assert part["type"] == "text"
    assert len(part["text"]) < 6_000
    assert json.loads(pf.resources.bytes(resource["uri"])) == numbers.tolist()


def test_small_data_frame_is_csv_and_an_arrow_table_its_columns() -> None:
    columns = {"a": [1, 2], "b": ["x", None], "c": [1.5, math.nan], "d": [MOMENT, None]}
    frame = pd.DataFrame(columns)
    rows = ["1,x,1.5,2026-01-02 03:04:05.000006", "2,,,"]
    assert jsonable(frame) == f",a,b,c,d\n0,{rows[0]}\n1,{rows[1]}\n"
    assert jsonable(frame.set_index("a")["b"]) == "a,b\n1,x\n2,\n"
    text = "a,b,c,d\n1,x,1.5,2026-01-02T03:04:05.000006\n2,,NaN,\n"
    assert jsonable(pl.DataFrame(columns)) == text
    assert jsonable(pl.Series("a", [1, 2])) == "a\n1\n2\n"
    table = pa.table({"a": [1, None], "b": [[1], [2]], "t": [MOMENT, None]})
    listed = {"a": [1, None], "b": [[1], [2]], "t": [MOMENT.isoformat(), None]}
    assert jsonable([table, table.to_batches()[0], table.to_reader()]) == [listed, listed, [listed]]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_large_data_frame_is_a_file_with_a_preview(
    pf: Pagefault, session: Session, kind: Callable[..., object]
) -> None:
    columns = {"n": range(5_000), "name": [f"item {n}" for n in range(5_000)]}
    made = session.tool_result("load", "call_1", {"sales": kind(columns), "year": 2026})
    text, file = made["sanitized"]["parts"]
    (resource,) = made["sanitized"]["resources"]
    assert text["type"] == "text"
    assert text["text"].startswith('{"sales":{"rows":5000,"preview":"')
    assert "item 20\\n" in text["text"]
    assert len(text["text"]) < 2_000
    assert (file["type"], resource["mimeType"], resource.get("filename")) == (
        *("file", "text/csv", "table.csv"),
    )
    stored = pd.read_csv(io.BytesIO(pf.resources.bytes(resource["uri"])))
    assert stored[["n", "name"]].equals(pd.DataFrame(columns))


@pytest.mark.parametrize(
    ("value", "pointer", "reason"),
    [
        (np.array([[1, math.nan]]), "/x/0/1", "is nan"),
        (pd.DataFrame({"a": [np.arange(2_000)]}), "/x", "the column 'a' has a ndarray in row 0"),
        (pd.DataFrame({"a": ["x", b"ab"]}), "/x", "the column 'a' has a bytes in row 1"),
        (pd.DataFrame({"a": ["\ud800"]}, dtype=object), "/x", "surrogates not allowed"),
        (pl.DataFrame({"a": [[1], [2]]}), "/x", "CSV cannot represent: use its rows as a list"),
        (pl.DataFrame({"a": [1]}).lazy(), "/x", "has the type LazyFrame"),
        (pd.NA, "/x", "has the type NAType"),
        (pa.table([[1], [2]], names=["a", "a"]), "/x/a", "has the name of another member"),
    ],
)
def test_data_that_cannot_be_stored_whole_is_an_error_with_its_place(
    value: object, pointer: str, reason: str
) -> None:
    with pytest.raises(UnstorableError, match=reason) as refused:
        jsonable({"x": value})
    assert refused.value.pointer == pointer


def test_rows_of_a_data_frame_with_nested_values_are_stored() -> None:
    rows = [{"a": np.arange(2), "b": b"ab"}]
    stored = [{"a": [0, 1], "b": "data:application/octet-stream;base64,YWI="}]
    assert jsonable(pd.DataFrame(rows).to_dict("records")) == stored
    assert jsonable(pl.DataFrame({"a": [[0, 1]], "b": [b"ab"]}).to_dicts()) == stored

"""Unusual JSON texts: repeated keys, escapes, lone surrogates, odd whitespace."""

from hypothesis import strategies as st

_SCALARS = st.sampled_from(
    [
        *("0", "-0", "17", "1.10", "1E5", "9" * 30, "true", "false", "null", '""', '"a"'),
        *(
            '"[,]"',
            '"{\\"a\\":1}"',
            '"\\\\"',
            '"é😀"',
            '"\\ud83d\\ude00"',
            '"\\ud800"',
            '"\\u005b"',
        ),
    ]
)
_KEYS = st.sampled_from(
    ['"a"', '"b"', '"\\u0061"', '"0"', '"1"', '"~/"', '""', '"\\udfff"', '",["']
)
_BLANKS = st.sampled_from(["", "", "", " ", "\n\t\r "])


@st.composite
def _arrays(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    items = draw(st.lists(values, max_size=6))
    return f"[{','.join(draw(_BLANKS) + item + draw(_BLANKS) for item in items) or draw(_BLANKS)}]"


@st.composite
def _objects(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    members = draw(st.lists(st.tuples(_KEYS, values), max_size=6))
    blank = draw(_BLANKS)
    written = ",".join(f"{blank}{key}{blank}:{value}{blank}" for key, value in members)
    return f"{{{written or blank}}}"


def _containers(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(_arrays(values), _objects(values))


JSON_TEXTS = st.tuples(_BLANKS, st.recursive(_SCALARS, _containers, max_leaves=40), _BLANKS).map(
    "".join
)

"""An MCP server whose tools return what Python functions return: each type, in every nesting."""

from dataclasses import dataclass

from pydantic import BaseModel

try:
    from fastmcp import FastMCP
    from fastmcp.utilities.types import Image
except ImportError:  # The SDK had it before it was a package of its own.
    from mcp.server.fastmcp import FastMCP, Image

server = FastMCP("typed")


class Weather(BaseModel):
    """A forecast."""

    place: str
    degrees: float
    wind: list[int]


@dataclass
class Point:
    """A place on a plane."""

    horizontal: int
    vertical: float


@server.tool()
def word() -> str:
    return "Grüße aus Köln, 北京 und القاهرة"


@server.tool()
def whole() -> int:
    return 9_007_199_254_740_993


@server.tool()
def real() -> float:
    return 1e20


@server.tool()
def yes() -> bool:
    return True


@server.tool()
def nothing() -> None:
    return None


@server.tool()
def words() -> list[str]:
    return ["the first of these words", "the second of these words"]


@server.tool()
def no_words() -> list[str]:
    return []


@server.tool()
def numbers() -> list[int]:
    return [1_000_001, 1_000_002]


@server.tool()
def mapping() -> dict[str, str]:
    return {"the key of an entry": "the value of an entry"}


@server.tool()
def weather() -> Weather:
    return Weather(place="a place by the river", degrees=0.1, wind=[3, 5])


@server.tool()
def forecasts() -> list[Weather]:
    return [
        Weather(place=f"the place with number {number}", degrees=number, wind=[])
        for number in (1, 2)
    ]


@server.tool()
def point() -> Point:
    return Point(horizontal=123_456_789, vertical=-0.5)


@server.tool()
def json_text() -> str:
    return '{"said": "a text that is JSON already"}'


@server.tool()
def long_text() -> str:
    return "\n".join(f"line {number} of a long text" for number in range(200))


@server.tool()
def untyped():
    return {"who": "a tool without an annotation", "what": [1.5, None, True]}


@server.tool()
def picture(path: str) -> Image:
    return Image(path=path)


@server.tool()
def picture_with_words(path: str) -> list:
    return ["a line above the picture", Image(path=path), "a line below the picture"]


@server.tool()
def failure() -> str:
    raise ValueError("the reason why the tool failed")


server.run()

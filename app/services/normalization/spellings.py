"""Members of MCP's blocks as the Python SDK dumps them, in the protocol's words.

Its objects have `meta` for `_meta` and, since its second version, names in snake_case; whatever was
not given is `null`. Only what stands in a block of nothing but the protocol's members is respelled.
"""

_TYPES = frozenset(("text", "image", "audio", "resource", "resource_link"))
# In the order of the SDK, which every dump has.
_BLOCK_MEMBERS = (
    *("name", "title", "uri", "description", "mimeType", "mime_type", "size", "icons"),
    *("type", "text", "data", "resource", "annotations", "meta", "_meta"),
)
_RESOURCE_MEMBERS = ("uri", "mimeType", "mime_type", "meta", "_meta", "text", "blob")
_OTHER_MEMBERS = ("src", "mimeType", "sizes", "theme", "audience", "priority", "lastModified")
_NAMES = {"last_modified": "lastModified", "mime_type": "mimeType"}

Block = dict[str, object]


def in_protocol_words(rest: Block, block: Block) -> Block:
    """Return what is left of a block in the protocol's words.

    Args:
        rest: The members that are left, a copy.
        block: The whole block.
    """
    members = _BLOCK_MEMBERS if block.get("type") in _TYPES else ()
    rest = _respelled(rest, is_protocol=block.keys() <= {*members})
    resource, whole = rest.get("resource"), block.get("resource")
    if isinstance(resource, dict) and isinstance(whole, dict):
        rest["resource"] = _respelled(resource, is_protocol=whole.keys() <= {*_RESOURCE_MEMBERS})
        if not rest["resource"]:
            del rest["resource"]
    return rest


def _respelled(members: Block, *, is_protocol: bool) -> Block:
    kept: Block = {}
    for key in _in_order(members, _BLOCK_MEMBERS) if is_protocol else members:
        name, said = key, members[key]
        if key == "annotations" and isinstance(said, dict):
            said = _given(said)
        elif key == "icons" and is_protocol and isinstance(said, list):
            said = [_given(icon) if isinstance(icon, dict) else icon for icon in said]
        elif key == "meta" and is_protocol and isinstance(said, dict) and "_meta" not in members:
            name = "_meta"
        if said != {}:
            kept[name] = said
    return kept


def _given(members: Block) -> Block:
    said = {key: each for key, each in members.items() if each is not None}
    named = {
        key if _NAMES.get(key, key) in said else _NAMES[key]: each for key, each in said.items()
    }
    return {name: named[name] for name in _in_order(named, _OTHER_MEMBERS)}


def _in_order(members: Block, names: tuple[str, ...]) -> list[str]:
    return sorted(members, key=lambda name: names.index(name) if name in names else len(names))

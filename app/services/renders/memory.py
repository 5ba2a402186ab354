"""What the system says to a model of the memory of its session."""

from app.models.conversation import ComposedTurn, TextItem, Turn
from app.models.rendering import RenderOptions
from app.rendering.pages.instructions import instructions
from app.rendering.targets.profile import Profile
from app.services.pages.manifests import PageManifests

_MOST_LISTED = 10_000


async def memory_turn(
    manifests: PageManifests,
    project_id: str,
    session_id: str,
    profile: Profile,
    options: RenderOptions,
) -> ComposedTurn:
    """Return what the system says of the memory: its rules and its pages, as far as asked for."""
    texts = [instructions("strict")] if "instructions" in options.memory else []
    if "manifest" in options.memory:
        most, count = options.memory_tokens, profile.tokens.text
        listed = await manifests.manifest(
            project_id, session_id, limit=_MOST_LISTED, most_tokens=most, count=count
        )
        texts.append(listed.text)
    origin = f"/api/sessions/{session_id}/manifest"
    return Turn(role="system", items=(TextItem("", "\n\n".join(texts)),), origin=origin)

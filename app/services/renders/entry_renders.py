"""Renderings of single entries of sessions."""

from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.loaded_sessions import load_entry
from app.services.renders.queries import RenderQuery


async def render_entry(
    answers: AnswerRenders, project_id: str, session_id: str, seq: int, query: RenderQuery
) -> RenderedBody:
    """Render the answer to a call, an entry of a session; errors as in `Renders.render_record`."""
    profile, resolver, options = answers.profile(query), answers.resolver, query.options
    loaded = await load_entry(answers.records, answers.blobs, project_id, session_id, seq)
    turns = await resolver.run(lambda: loaded.turns_of_only_entry(options.audience))
    turns = await resolver.limit_texts(project_id, session_id, turns, options)
    return await answers.render(project_id, turns, profile, query)

"""`/api/doctor`: diagnoses and repairs of histories."""

from typing import Annotated

from fastapi import Depends, Query, Response

from app.errors import NotFoundError
from app.http.api_router import ApiRouter
from app.http.calls import CallDep
from app.http.dependencies import service
from app.http.render_parameters import MaxTokensQuery
from app.http.rendered_responses import rendered_response
from app.wire.renders import Target
from pagefault_dialects.messages.histories import Dialect
from pagefault_doctor.diagnoses import Diagnosis, Examination
from pagefault_doctor.doctor import Doctor, DoctorQuery

router = ApiRouter("/api", "doctor")

DoctorDep = Annotated[Doctor, Depends(service(Doctor))]


@router.writes("POST", "/doctor", Diagnosis, NotFoundError, body=Examination)
async def examine_history(
    call: CallDep,
    doctor: DoctorDep,
    target: Annotated[
        Target | None,
        Query(description="For whom the history is; its own dialect by default."),
    ] = None,
    apply: Annotated[
        bool, Query(description="Whether the healed history is wanted as well.")
    ] = False,
    dialect: Annotated[
        Dialect | None,
        Query(description="What the history is meant to be in; what most of it is by default."),
    ] = None,
    max_tokens: MaxTokensQuery = None,
) -> Response:
    """Find what is wrong with a history of any dialect, and heal it.

    Nothing is stored, and nothing is fetched. The healed history is what a rendering for the target
    would be; `loss` says what it lacks.
    """
    query = DoctorQuery(target, dialect, max_tokens, applies=apply)
    limit = call.limits.history_bytes
    body = await doctor.examine(call.project_id, call.json_body(limit), query)
    return rendered_response(call.request, body)

"""`/api/doctor`: diagnoses and repairs of histories."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from app.errors import NotFoundError
from app.http.api_route import ApiRoute
from app.http.calls import CallDep
from app.http.dependencies import service
from app.http.openapi_operations import json_body
from app.http.problem_types import BODY_ERRORS, problem_responses
from app.http.render_parameters import MaxTokensQuery
from app.http.rendered_responses import rendered_response
from app.wire.renders import Target
from pagefault_dialects.messages.histories import Dialect
from pagefault_doctor.diagnoses import Diagnosis, Examination
from pagefault_doctor.doctor import Doctor, DoctorQuery

router = APIRouter(prefix="/api", tags=["doctor"], route_class=ApiRoute)

DoctorDep = Annotated[Doctor, Depends(service(Doctor))]


@router.post(
    "/doctor",
    response_model=Diagnosis,
    openapi_extra=json_body(Examination),
    responses=problem_responses(NotFoundError, *BODY_ERRORS),
)
async def examine_history(
    call: CallDep,
    doctor: DoctorDep,
    target: Annotated[
        Target | None,
        Query(description="The target of the history; by default, its own dialect."),
    ] = None,
    apply: Annotated[
        bool, Query(description="Include the repaired history in the answer.")
    ] = False,
    dialect: Annotated[
        Dialect | None,
        Query(description="The intended dialect; by default, that of most messages."),
    ] = None,
    max_tokens: MaxTokensQuery = None,
) -> Response:
    """Diagnose a history of any dialect, and repair it.

    Nothing is stored, and nothing is fetched. The repaired history is the rendering for the target;
    `loss` lists the changes.
    """
    query = DoctorQuery(target, dialect, max_tokens, applies=apply)
    limit = call.limits.history_bytes
    body = await doctor.examine(call.project_id, call.json_body(limit), query)
    return rendered_response(call.request, body)

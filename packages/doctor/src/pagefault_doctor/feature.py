"""The feature doctor: `/api/doctor`, `pagefault doctor`; transcripts and documents of sessions."""

from app.features import Feature

FEATURE = Feature(
    name="doctor",
    routers=(
        "pagefault_doctor.doctor_routes:router",
        "pagefault_doctor.document_routes:router",
    ),
    services=("pagefault_doctor.doctor_services:SERVICES",),
    commands=dict.fromkeys(("doctor", "export"), "pagefault_doctor.doctor_commands:commands"),
)

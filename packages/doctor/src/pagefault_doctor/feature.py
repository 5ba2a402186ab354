"""The feature doctor: `/api/doctor` and `pagefault doctor`."""

from app.features import Feature

FEATURE = Feature(
    name="doctor",
    routers=("pagefault_doctor.doctor_routes:router",),
    services=("pagefault_doctor.doctor_services:SERVICES",),
    commands={"doctor": "pagefault_doctor.doctor_commands:commands"},
)

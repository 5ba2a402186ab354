"""The feature bundles: sessions exported and imported as files."""

from app.features import Feature

FEATURE = Feature(
    name="bundles",
    routers=(
        "pagefault_bundles.bundle_routes:router",
        "pagefault_bundles.session_file_routes:router",
    ),
    services=("pagefault_bundles.bundle_services:SERVICES",),
    repositories=("pagefault_bundles.bundle_records:BundleRecords",),
)

"""Add derived images: smaller images that the service has made from stored images."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003b"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "resources",
        sa.Column("is_derived", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.create_table(
        "derived_images",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("source_digest", sa.String(), nullable=False),
        sa.Column("recipe", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.Column("is_first_picture", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "source_digest", "recipe", name="pk_derived_images"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_derived_images_projects"
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "resource_id"],
            ["resources.project_id", "resources.resource_id"],
            name="fk_derived_images_resources",
            ondelete="CASCADE",
        ),
    )
    op.create_index(
        "ix_derived_images_project_id_resource_id",
        "derived_images",
        ["project_id", "resource_id"],
    )


def downgrade() -> None:
    op.drop_table("derived_images")
    # Without the column, derived images could not be distinguished from files of clients.
    op.execute("DELETE FROM resources WHERE is_derived")
    op.drop_column("resources", "is_derived")

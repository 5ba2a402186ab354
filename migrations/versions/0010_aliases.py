"""Add aliases, the ids of other systems for resources, and the resources of attachments.

`interactions.bindings` has the resources that the attachments of an interaction were bound to.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009a"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "aliases",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("alias", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "alias", name="pk_aliases"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_aliases_projects"
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "resource_id"],
            ["resources.project_id", "resources.resource_id"],
            name="fk_aliases_resources",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_aliases_project_id_resource_id", "aliases", ["project_id", "resource_id"])
    op.create_index(
        "ix_aliases_project_id_created_at_alias",
        "aliases",
        ["project_id", "created_at", "alias"],
    )
    op.add_column("interactions", sa.Column("bindings", sa.String(), nullable=True))
    op.add_column("uploads", sa.Column("alias", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("uploads", "alias")
    op.drop_column("interactions", "bindings")
    op.drop_table("aliases")

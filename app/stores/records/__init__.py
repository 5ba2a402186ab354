"""Records in SQL: tables, units of work, and repositories, each inside one project."""

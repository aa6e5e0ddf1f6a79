"""A folder of SQL, as dbt has it: seeds, models that refer to each other by name, and tests of the data."""

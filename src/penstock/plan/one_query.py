"""Jobs that are one plan of Spark: a source, expressions and a sink, and nothing that workers compute.

Then `to_dataframe` needs no job, and what Spark may optimize does not end where Penstock begins.
"""

from __future__ import annotations

from penstock.plan.physical import Decision, PhysicalPlan

SUBJECT = "to_dataframe"
_QUERY = "one plan of Spark, without a job"
_JOB = "a job that writes Parquet files, which the DataFrame reads"


def job_because(plan: PhysicalPlan) -> str | None:
    """Return why the records of a sink need a job; completes "because …". None if Spark alone can make them."""
    for many, what in ((plan.sinks, "sinks"), (plan.sources, "sources"), (plan.runs, "runs")):
        if len(many) != 1:
            return f"the program has {len(many)} {what}"
    projected = {each.operator for each in plan.projections}
    projected |= {each.merged_for for each in plan.projections if each.merged_for is not None}
    operators = [op for level in plan.levels for op in level.operators]
    others = [op.name for op in operators if op.id not in projected]
    if others:
        return f"workers compute {', '.join(map(repr, others))}"
    if len(plan.projections) != 1:
        return "nothing is computed of columns"
    merged = plan.projections[0].merged_for
    if merged is not None:
        refused: str | None = plan.graph.node(merged).function.results.unprojected_because
        return refused
    return None


def dataframe_decision(refused: str | None) -> Decision:
    """Return the choice of `to_dataframe`, for plans."""
    if refused is None:
        return Decision(SUBJECT, _QUERY, "expressions of one DataFrame are all it has to compute")
    return Decision(SUBJECT, _JOB, refused)

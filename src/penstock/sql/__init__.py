"""SQL over streams: statements, their relations, and the operators that compute them.

    text ── dialect ──> statements (a sqlglot tree and its place)
         ── relations ─> Scan, Filter, Project, Join, … : frozen, typed, each with its changelog mode
         ── lowering ──> operators of a DataStream program

A statement is planned completely before the job reads a record. The planner of jobs then places the operators as it does
those of any program, so the result is the same in every mode.
"""

"""SQL over streams: statements, the relations they ask for, and the operators that compute them.

    text ── dialect ──> statements (a sqlglot tree and its place)
         ── relations ─> Scan, Filter, Project, Join, … : frozen, typed, each with its changelog mode
         ── lowering ──> operators of a DataStream program

Everything that a statement decides is decided before a record is read. The planner of jobs then places the
operators as it does those of any program, so the answer is the same in every mode.
"""

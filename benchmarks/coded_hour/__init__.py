"""The job of the proposal CodedRowData, live for an hour: coded rows on and off beside each other.

    python -m benchmarks.coded_hour --minutes 60 --plot build/coded-hour.svg

A feed writes a file of each table every five seconds; two drivers read the same files, one with
`table.exec.enable-coded-rowdata` and one without. Sampled are CPU time and resident memory of their processes, what state takes in the
checkpoint and in the local copies. In the end both joins are compared with one that is computed from the facts of the records.
"""

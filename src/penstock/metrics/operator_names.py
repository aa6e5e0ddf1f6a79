"""Names of the metrics that every operator has, behind its uid and a dot."""

RECORDS_IN = "numRecordsIn"
RECORDS_OUT = "numRecordsOut"
WATERMARK = "currentInputWatermark"
LATE_RECORDS = "numLateRecordsDropped"

COMBINED_IN = "combine.numRecordsIn"
COMBINED_OUT = "combine.numRecordsOut"
"""Records that were combined before they were sent, and what was sent for them."""

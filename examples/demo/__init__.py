"""`penstock demo`: a year of departures from New York, as history and then live."""

"""Nexmark: queries of an auction house, over events of our own making.

`events` makes persons, auctions and bids; `queries/qN.sql` asks in the dialect of Flink, and `queries/qN.duckdb.sql`
asks DuckDB the same of the final tables, where the one text would not do for both.
"""

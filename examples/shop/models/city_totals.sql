-- A model of a model.
SELECT city, COUNT(*) AS customers, SUM(cents) AS cents FROM customer_totals GROUP BY city

"""Each example gives what plain Python gives, in every mode and after failures, and its page shows that."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from examples import dead_letters, enrichment, fraud, orders_with_customers, sensors, sessions
from examples.results import Fields, final_rows, table
from examples.shop import project
from penstock.testing import Schedule
from tests.runtime.jobs import BATCH, MIXED, STREAMING
from tools.site.example_tables import EXAMPLES, PAGE, answers, with_tables

Answer = dict[str, list[Fields]]


def of_fraud() -> Answer:
    small: dict[str, Any] = {}
    found = []
    for pay in fraud.made_payments(600):
        before = small.pop(pay.card, None)
        if before is not None and pay.at < before.at + fraud.MINUTE and pay.amount >= fraud.LARGE:
            minute = pay.at // fraud.MINUTE
            found.append(
                {"card": pay.card, "minute": minute, "small": before.amount, "large": pay.amount}
            )
        if pay.amount <= fraud.SMALL:
            small[pay.card] = pay
    return {"alerts": final_rows(found, None)}


def of_sessions() -> Answer:
    visits: dict[str, list[list[Any]]] = defaultdict(list)
    for click in sessions.made_clicks(30):
        of_user = visits[click.user]
        # Sessions that touch are one.
        if not of_user or click.at > of_user[-1][-1].at + sessions.GAP:
            of_user.append([])
        of_user[-1].append(click)
    found = [
        {
            "user": user,
            "from_minute": visit[0].at // sessions.MINUTE,
            "minutes": (visit[-1].at - visit[0].at) // sessions.MINUTE,
            "clicks": len(visit),
            "paid": sum(click.paid for click in visit),
        }
        for user, of_user in visits.items()
        for visit in of_user
    ]
    return {"visits": final_rows(found, None)}


def of_orders() -> Answer:
    orders, customers = orders_with_customers.made_tables()
    found = []
    for order in orders.rows.values():
        customer = customers.rows.get(order["customer"], {"name": None, "city": None})
        place = {"name": customer["name"], "city": customer["city"]}
        found.append({"order": order["id"], "amount": order["amount"], **place})
    return {"orders with customers": final_rows(found, None)}


def of_dead_letters() -> Answer:
    totals: dict[str, int] = defaultdict(int)
    letters = []
    for line in dead_letters.made_lines(50):
        try:
            order = json.loads(line)
            totals[order["customer"]] += int(order["amount"])
        except (ValueError, KeyError) as error:
            letters.append({"line": line, "reason": f"{type(error).__name__}: {error}"})
    rows = [{"customer": name, "amount": amount} for name, amount in totals.items()]
    return {"totals": final_rows(rows, None), "dead letters": final_rows(letters, None)}


def of_enrichment() -> Answer:
    rows = [
        {"id": order.id, "customer": order.customer, "city": enrichment.CITIES.get(order.customer)}
        for order in enrichment.made_orders(12)
    ]
    return {"orders": final_rows(rows, None)}


def of_sensors() -> Answer:
    kept: dict[tuple[str, int], list[float]] = defaultdict(list)
    late, newest = [], sensors.BEHIND
    for reading in sensors.made_readings(60):
        start = reading.at // sensors.LENGTH * sensors.LENGTH
        if start + sensors.LENGTH - 1 + sensors.LATENESS <= newest - sensors.BEHIND:
            late.append(reading.as_dict())
        else:
            kept[reading.sensor, start].append(reading.celsius)
        newest = max(newest, reading.at)
    means = [
        {
            "window": f"{sensor}@{start // sensors.MINUTE}",
            "sensor": sensor,
            "from_minute": start // sensors.MINUTE,
            "readings": len(celsius),
            "mean": round(sum(sorted(celsius)) / len(celsius), 2),
        }
        for (sensor, start), celsius in kept.items()
    ]
    return {"means": final_rows(means, None), "too late": final_rows(late, None)}


def of_shop() -> Answer:
    customers = {row.id: row for row in project.rows("customers")}
    paid = [row for row in project.rows("orders") if row.status == "paid"]
    totals = [
        {
            "id": each.id,
            "name": each.name,
            "city": each.city,
            "orders": sum(order.customer == each.id for order in paid),
            "cents": sum(order.cents for order in paid if order.customer == each.id),
        }
        for each in customers.values()
    ]
    cities = [
        {
            "city": city,
            "customers": sum(row["city"] == city for row in totals),
            "cents": sum(row["cents"] for row in totals if row["city"] == city),
        }
        for city in {row["city"] for row in totals}
    ]
    best = {order.item: order for order in sorted(paid, key=lambda order: order.cents)}
    items = [{"item": item, "id": order.id, "cents": order.cents} for item, order in best.items()]
    lost = [
        {"id": order.id, "customer": order.customer}
        for order in paid
        if order.customer not in customers
    ]
    return {
        "customer_totals": final_rows(totals, None),
        "city_totals": final_rows(cities, None),
        "best_items": final_rows(items, None),
        "unknown_customers": final_rows(lost, None),
    }


def test_models_come_behind_those_that_they_read() -> None:
    order = list(project.models())
    assert order.index("paid_orders") < order.index("customer_totals") < order.index("city_totals")


EXPECTED: dict[str, Callable[[], Answer]] = {
    "fraud": of_fraud,
    "sessions": of_sessions,
    "orders_with_customers": of_orders,
    "dead_letters": of_dead_letters,
    "enrichment": of_enrichment,
    "sensors": of_sensors,
    "shop.project": of_shop,
}
SCHEDULES = [Schedule(batch_sizes=(11,)), Schedule(batch_sizes=(5,), fail_every=2, restart_every=2)]
WAYS: Sequence[tuple[str, dict[str, str], Schedule]] = [
    ("batch", BATCH, Schedule()),
    *(("streaming", STREAMING, schedule) for schedule in SCHEDULES),
    *(("mixed", MIXED, schedule) for schedule in SCHEDULES),
]


CASES = [
    pytest.param(example, settings, schedule, id=f"{example}-{name}")
    for example in EXAMPLES
    for name, settings, schedule in WAYS
    if (example, name) != ("sensors", "batch")  # in a batch run nothing is late
]


@pytest.mark.parametrize(("example", "settings", "schedule"), CASES)
def test_an_example_gives_what_plain_python_gives(
    example: str, settings: dict[str, str], schedule: Schedule
) -> None:
    found = answers(example, settings, schedule)
    assert found == EXPECTED[example]()
    assert all(found.values())


def test_the_page_shows_what_they_print() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_tables(text), "run python -m tools.site.example_tables"


def test_a_table_keeps_the_last_row_of_a_key_and_drops_what_was_deleted() -> None:
    rows: list[Fields] = [
        {"id": 2, "n": 1, "deleted": False},
        {"id": 10, "n": 2, "deleted": False},
        {"id": 2, "n": 3, "deleted": False},
        {"id": 3, "n": 4, "deleted": True},
    ]
    assert final_rows(rows, "id") == [{"id": 2, "n": 3}, {"id": 10, "n": 2}]
    assert table("t", [{"id": 2, "name": None}]) == "t\n  id  name\n  2   None\n"
    assert table("t", []) == "t\n  none\n"

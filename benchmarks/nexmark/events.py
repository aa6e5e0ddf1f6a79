"""Events of an auction house as three tables: persons, auctions and bids.

Of 50 events one is a person, three are auctions and 46 are bids, as in Nexmark. An event happens `EVENT_MILLIS` after
the one before. Auctions are of persons of late, and bids are for auctions of late, some of which are over. The same seed makes
the same events, and a longer history begins with the shorter one's times, not with its values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

EVENT_MILLIS = 100
_ROUND = 50
_PERSONS = 1
_AUCTIONS = 3
_FIRST_ID = 1_000
_FIRST_CATEGORY = 10
_CATEGORIES = 5
_RECENT_PERSONS = 50
_RECENT_AUCTIONS = 60
_START_MICROS = 1_767_225_600_000_000
"""2026-01-01."""

_CITIES = (
    "Phoenix",
    "Palo Alto",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_STATES = ("AZ", "CA", "ID", "OR", "OR", "WA", "WA", "WA", "WY")
_FIRST_NAMES = ("Ada", "Bert", "Cleo", "Dora", "Emil", "Fay", "Gus")
_LAST_NAMES = ("Abel", "Birch", "Cole", "Drew", "Else", "Frey")
_CHANNELS = ("apple", "google", "facebook", "baidu")
_LETTERS = np.array(list("abcdefghij"))


@dataclass(frozen=True, slots=True)
class NexmarkEvents:
    """The three tables; `dateTime` is the event time of each.

    Attributes:
        person: id, name, emailAddress, creditCard, city, state, dateTime, extra.
        auction: id, itemName, description, initialBid, reserve, dateTime, expires, seller, category, extra.
        bid: auction, bidder, price, channel, url, dateTime, extra.
        side_input: key, value: what a query looks up by a number.
    """

    person: pa.Table
    auction: pa.Table
    bid: pa.Table
    side_input: pa.Table

    def tables(self) -> dict[str, pa.Table]:
        """Return name to table."""
        return {
            "person": self.person,
            "auction": self.auction,
            "bid": self.bid,
            "side_input": self.side_input,
        }


def nexmark_events(count: int, seed: int = 1) -> NexmarkEvents:
    """Return what happens in `count` events.

    Args:
        count: Of all three kinds together.
        seed: Of the random numbers.
    """
    random = np.random.default_rng(seed)
    number = np.arange(count)
    place = number % _ROUND
    is_person = place < _PERSONS
    is_auction = ~is_person & (place < _PERSONS + _AUCTIONS)
    # How many there were before each event; at least one, so that there is one to choose.
    persons = np.maximum(np.cumsum(is_person), 1)
    auctions = np.maximum(np.cumsum(is_auction), 1)
    is_bid = ~is_person & ~is_auction
    return NexmarkEvents(
        person=_persons(random, number[is_person]),
        auction=_auctions(random, number[is_auction], persons[is_auction]),
        bid=_bids(random, number[is_bid], persons[is_bid], auctions[is_bid]),
        side_input=pa.table(
            {"key": pa.array(range(100), pa.int64()), "value": [f"side {n}" for n in range(100)]}
        ),
    )


def _times(number: np.ndarray) -> pa.Array:
    micros = _START_MICROS + number.astype("int64") * EVENT_MILLIS * 1_000
    return pa.array(micros.astype("datetime64[us]"))


def _recent(random: np.random.Generator, existing: np.ndarray, most: int) -> np.ndarray:
    """Return ids of things of which `existing` exist, among the last `most`."""
    back = random.integers(0, np.minimum(existing, most))
    ids: np.ndarray = _FIRST_ID + existing - 1 - back
    return ids


def _texts(random: np.random.Generator, count: int, length: int) -> list[str]:
    letters = _LETTERS[random.integers(0, len(_LETTERS), (count, length))]
    return ["".join(row) for row in letters]


def _prices(random: np.random.Generator, count: int) -> np.ndarray:
    """Return cents from a hundred to 10^8, each order of magnitude as often as any other."""
    prices: np.ndarray = (10 ** random.uniform(2, 8, count)).astype("int64")
    return prices


def _persons(random: np.random.Generator, number: np.ndarray) -> pa.Table:
    count = len(number)
    names = [
        f"{_FIRST_NAMES[first]} {_LAST_NAMES[last]}"
        for first, last in zip(
            random.integers(0, len(_FIRST_NAMES), count),
            random.integers(0, len(_LAST_NAMES), count),
            strict=True,
        )
    ]
    city = random.integers(0, len(_CITIES), count)
    return pa.table(
        {
            "id": pa.array(_FIRST_ID + np.arange(count), pa.int64()),
            "name": pa.array(names, pa.string()),
            "emailAddress": pa.array([f"{each}@example.org" for each in _texts(random, count, 6)]),
            "creditCard": pa.array([f"{n:016d}" for n in random.integers(0, 10**16, count)]),
            "city": pa.array([_CITIES[each] for each in city], pa.string()),
            "state": pa.array([_STATES[each] for each in city], pa.string()),
            "dateTime": _times(number),
            "extra": pa.array(_texts(random, count, 8), pa.string()),
        }
    )


def _auctions(random: np.random.Generator, number: np.ndarray, persons: np.ndarray) -> pa.Table:
    count = len(number)
    initial = _prices(random, count)
    open_events = random.integers(100, 1_000, count)
    return pa.table(
        {
            "id": pa.array(_FIRST_ID + np.arange(count), pa.int64()),
            "itemName": pa.array(
                [f"item {each}" for each in _texts(random, count, 5)], pa.string()
            ),
            "description": pa.array(_texts(random, count, 20), pa.string()),
            "initialBid": pa.array(initial),
            "reserve": pa.array(initial + _prices(random, count)),
            "dateTime": _times(number),
            "expires": _times(number + open_events),
            "seller": pa.array(_recent(random, persons, _RECENT_PERSONS)),
            "category": pa.array(_FIRST_CATEGORY + random.integers(0, _CATEGORIES, count)),
            "extra": pa.array(_texts(random, count, 8), pa.string()),
        }
    )


def _bids(
    random: np.random.Generator, number: np.ndarray, persons: np.ndarray, auctions: np.ndarray
) -> pa.Table:
    count = len(number)
    # Half of the bids come by one of four channels, the others by one of a thousand with an id in the address.
    channel = random.integers(0, 2 * len(_CHANNELS), count)
    other = random.integers(0, 1_000, count)
    is_known = channel < len(_CHANNELS)
    channels = [
        _CHANNELS[known] if is_one else f"channel-{number}"
        for known, is_one, number in zip(channel, is_known, other, strict=True)
    ]
    paths = ["/".join((text[:3], text[3:6], text[6:])) for text in _texts(random, count, 9)]
    urls = [
        f"https://example.org/{path}/item.htm?query=1" + ("" if is_one else f"&channel_id={number}")
        for path, is_one, number in zip(paths, is_known, other, strict=True)
    ]
    return pa.table(
        {
            "auction": pa.array(_recent(random, auctions, _RECENT_AUCTIONS)),
            "bidder": pa.array(_recent(random, persons, _RECENT_PERSONS)),
            "price": pa.array(_prices(random, count)),
            "channel": pa.array(channels, pa.string()),
            "url": pa.array(urls, pa.string()),
            "dateTime": _times(number),
            "extra": pa.array(_texts(random, count, 8), pa.string()),
        }
    )

"""How late will a flight be? A model of scikit-learn scores flights in batches, in history and live.

    penstock run examples/score.py              makes flights, fits a model, scores them
    python examples/score.py --help

The model is loaded once per worker. It gets the columns of many flights at once and returns a column; the scores are
compared with those of scoring everything at once.
"""

import argparse
import io
import random
from typing import Any

import joblib
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from penstock.common import Row, Types
from penstock.datastream import DataStream, MapBatchFunction, StreamExecutionEnvironment

FEATURES = ["hour", "distance", "wind"]
FLIGHT = Types.ROW_NAMED(
    ["flight", *FEATURES], [Types.LONG(), Types.LONG(), Types.DOUBLE(), Types.DOUBLE()]
)
SCORED = Types.ROW_NAMED(["flight", "delay"], [Types.LONG(), Types.DOUBLE()])


class Score(MapBatchFunction):
    """Predicts delays in minutes."""

    def __init__(self, model: bytes) -> None:
        self.stored = model

    def open(self, runtime_context: Any) -> None:
        self.model = joblib.load(io.BytesIO(self.stored))  # written by this program

    def map_batch(self, batch: dict[str, np.ndarray]) -> dict[str, Any]:
        return {"flight": batch["flight"], "delay": self.model.predict(table(batch))}


def table(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return a row per flight and a column per feature."""
    return np.column_stack([columns[name] for name in FEATURES])


def made_flights(count: int, seed: int = 1) -> list[Row]:
    draw = random.Random(seed)
    return [
        Row(
            flight=number,
            hour=draw.randrange(24),
            distance=draw.uniform(100, 4000),
            wind=draw.expovariate(0.1),
        )
        for number in range(count)
    ]


def columns_of(flights: list[Row]) -> dict[str, np.ndarray]:
    names = FLIGHT.get_field_names()
    return {name: np.array([flight[name] for flight in flights]) for name in names}


def fitted(flights: list[Row], seed: int = 1) -> bytes:
    """Return a model of delays that grow in the evening and with the wind."""
    columns, noise = columns_of(flights), np.random.default_rng(seed)
    delays = columns["hour"] + 2 * columns["wind"] + noise.normal(0, 5, len(flights))
    model = HistGradientBoostingRegressor(max_iter=30, random_state=seed)
    stored = io.BytesIO()
    joblib.dump(model.fit(table(columns), delays), stored)
    return stored.getvalue()


def at_once(model: bytes, flights: list[Row]) -> dict[int, float]:
    """Return the delay of each flight, all scored in one call."""
    columns = columns_of(flights)
    delays = joblib.load(io.BytesIO(model)).predict(table(columns))
    return dict(zip(columns["flight"].tolist(), delays.tolist(), strict=True))


def build(flights: DataStream[Row], model: bytes, batch_size: int) -> DataStream[Row]:
    return flights.map_batches(Score(model), SCORED, batch_size=batch_size).name("score")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Scores flights in batches with a model of scikit-learn."
    )
    parser.add_argument("--flights", type=int, default=5000, help="how many to score")
    parser.add_argument("--batch-size", type=int, default=1024, help="most flights of a call")
    options = parser.parse_args()
    flights = made_flights(options.flights)
    model = fitted(made_flights(2000, seed=2))
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = build(env.from_collection(flights, FLIGHT), model, options.batch_size)
    with stream.execute_and_collect() as rows:
        scored = {row.flight: row.delay for row in rows}
    print("flight  hour  distance  wind  delay")
    for flight in flights[:5]:
        number, hour, distance, wind = flight
        print(f"{number:6}{hour:6}{distance:10.0f}{wind:6.1f}{scored[number]:7.1f}")
    is_equal = scored == at_once(model, flights)
    print(f"{len(scored)} flights; scored at once: {'equal' if is_equal else 'DIFFERENT'}")


if __name__ == "__main__":
    main()

"""Remark on one line of a program."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Weight(Enum):
    """Weight of a remark for the person who ports the program."""

    BY_HAND = "by hand"
    """The program fails until somebody changes this line."""

    DIFFERS = "differs"
    """It runs, and may answer or behave otherwise than with PyFlink."""

    NO_EFFECT = "no effect"
    """It is accepted, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know about a line.

    Attributes:
        line: Its number.
        weight: What it asks for.
        text: What is so, and what to do.
    """

    line: int
    weight: Weight
    text: str

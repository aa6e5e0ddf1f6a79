"""The executor that plans and stops: `penstock plan`."""

from __future__ import annotations

from typing import NoReturn

from penstock.config.configuration import Configuration
from penstock.plan.physical import PhysicalPlan


class PlanReady(BaseException):
    """Carries the plan out of a program that was only to be planned.

    Not an `Exception`: a program's own error handling must not swallow it.

    Attributes:
        plan: The plan.
        configuration: The configuration of the job.
    """

    def __init__(self, plan: PhysicalPlan, configuration: Configuration) -> None:
        super().__init__("planned")
        self.plan = plan
        self.configuration = configuration


class PlanOnlyExecutor:
    """Ends the program at its first `execute`."""

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> NoReturn:
        """Stop here.

        Raises:
            PlanReady: Always.
        """
        raise PlanReady(plan, configuration)

"""Starts jobs on Spark.

Half of what a driver imports is needed when the session is there, not before. Until its JVM runs, this
process only waits, so the client of the job and all that is behind it are imported meanwhile.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.api.environment.job import JobClient
from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR, JOB_NAME, LOGGING_FORMAT, PARALLELISM
from penstock.observe.events.event_json import log_as_json
from penstock.observe.events.listeners import JobEvents, Registration
from penstock.observe.notebook.live_job import live_job
from penstock.observe.reporters.start import start_reporters
from penstock.plan.phases.pipelines import is_written_beside
from penstock.plan.physical import PhysicalPlan
from penstock.plan.placement.expressions import computes_in_spark
from penstock.spark.job.event_log import event_log_of, job_not_started, job_started
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.later_parallelism import recorded_parallelism
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.spark.session.factory import get_session
from penstock.spark.session.settings import early_object_settings
from penstock.spark.upgrade.policy import check_functions

_CLIENT = "penstock.spark.job_client"
"""Module that is imported while the JVM starts."""


class SparkExecutor:
    """Executes jobs with `execution.target: spark`."""

    def settle(self, configuration: Configuration) -> None:
        """Set the parallelism that `penstock rescale` has recorded; the command line has precedence."""
        configured = configuration.get(CHECKPOINT_DIR)
        if configured is not None:
            path = checkpoint_path(configured, early_object_settings(configuration))
            parallelism = recorded_parallelism(path)
            if parallelism is not None:
                configuration.set(PARALLELISM, parallelism)

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> JobClient:
        """Start a job and return at once."""
        settings = Configuration(configuration)
        if settings.get(LOGGING_FORMAT) == "json":
            log_as_json()
        start_reporters(settings)
        name = settings.get(JOB_NAME)
        configured = settings.get(CHECKPOINT_DIR)
        path = configured and checkpoint_path(configured, early_object_settings(settings))
        directory = JobDirectory.open(path, plan, name)
        own = (*event_log_of(directory), *_in_notebook(directory.job_id, name))
        events = JobEvents(directory.job_id, name, own=own)
        is_published = False
        try:
            directory.check_owns_sinks()
            check_functions(directory, settings)
            session = _session_of(directory.plan, settings)
            from penstock.spark.job_client import SparkJobClient
            from penstock.spark.upgrade.handover import begun_elsewhere

            start = begun_elsewhere(directory, settings, session, events)
            settings, is_published = start.configuration, start.is_published
            client = SparkJobClient(
                directory.plan, settings, directory, events, session, start.stopped
            )
            directory.forget_bootstrap()
            begun = None if is_published else job_started(directory.plan, settings)
        except BaseException as failure:
            if is_published:
                events.publish(job_not_started(failure))
            events.close()
            directory.refuse()
            raise
        client.start(begun)
        return client


def _session_of(plan: PhysicalPlan, settings: Configuration) -> SparkSession:
    beside = len(plan.pipelines) - 1 + is_written_beside(plan)
    return get_session(settings, beside, computes=computes_in_spark(plan), meanwhile=(_CLIENT,))


def _in_notebook(job_id: str, name: str) -> tuple[Registration, ...]:
    """Return the live view of a job, if this is a notebook."""
    view = live_job(job_id, name)
    return () if view is None else (Registration(view),)

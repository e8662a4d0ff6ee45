"""Launchers that outlive a job that was killed.

Hydra's launcher for submitit gives up at the first job without a result, while the others go on unseen. Here all
are waited for, and what is missing in the end is known by the jobs' folders.
"""

import logging
from typing import Any

from hydra.core.utils import JobReturn, JobStatus

log = logging.getLogger("rsbench")


def outlive_killed_jobs() -> None:
    """Let submitit's jobs come back without a result when they were killed."""
    from submitit import AutoExecutor

    submit = AutoExecutor.map_array

    def map_array(self: Any, *args: Any) -> list["_Job"]:
        jobs = submit(self, *args)
        return [_Job(job, jobs) for job in jobs]

    if submit.__module__ != __name__:
        setattr(AutoExecutor, "map_array", map_array)  # noqa: B010 (mypy takes no assignment)


class _Job:
    def __init__(self, job: Any, jobs: list[Any]):
        self._job, self._all = job, jobs

    def results(self) -> list[JobReturn]:
        from submitit.core.utils import FailedJobError, UncompletedJobError
        from submitit.local.local import LocalJob

        try:
            return self._job.results()
        except (UncompletedJobError, FailedJobError) as error:
            log.warning("a job did not come to its end (%s): %s", str(error).splitlines()[0], self._job.paths.stderr)
            return [JobReturn(status=JobStatus.COMPLETED)]
        except KeyboardInterrupt:
            for job in self._all:
                if isinstance(job, LocalJob):  # a cluster's go on; those here would be left behind
                    job.cancel()
            raise

"""What Hydra's launchers are taught: to compose each job once, and to outlive one that was killed."""

import logging
from collections.abc import Sequence
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.sweeper import Sweeper
from omegaconf import DictConfig

log = logging.getLogger("rsbench")

#: So many composed jobs are kept at a time: each takes some hundred kilobytes.
_KEPT = 100


def compose_jobs_once() -> None:
    """Let what Hydra composes to see whether a sweep's jobs can be composed be what it runs in this process."""
    compose = ConfigLoaderImpl.load_sweep_config
    kept: dict[tuple[str, ...], list[DictConfig]] = {}

    def validate_batch_is_legal(self: Any, batch: Sequence[Sequence[str]]) -> None:
        kept.clear()
        for number, overrides in enumerate(batch):
            config = compose(
                self.hydra_context.config_loader, self.config, list(overrides)
            )
            if (
                number < _KEPT
            ):  # a config for each job, also where jobs are the same: running one seals it
                kept.setdefault(tuple(overrides), []).append(config)

    def load_sweep_config(
        self: Any, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        composed = kept.get(tuple(sweep_overrides))
        return (
            composed.pop()
            if composed
            else compose(self, master_config, sweep_overrides)
        )

    if compose.__module__ != __name__:
        setattr(Sweeper, "validate_batch_is_legal", validate_batch_is_legal)  # noqa: B010 (mypy takes no assignment)
        setattr(ConfigLoaderImpl, "load_sweep_config", load_sweep_config)  # noqa: B010


def outlive_killed_jobs() -> None:
    """Let submitit's jobs come back without a result when they were killed.

    Hydra's launcher for it gives up at the first job without a result, while the others go on unseen. So all are
    waited for, and what is missing in the end is known by the jobs' folders.
    """
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
            log.warning(
                "a job did not come to its end (%s): %s",
                str(error).splitlines()[0],
                self._job.paths.stderr,
            )
            return [JobReturn(status=JobStatus.COMPLETED)]
        except KeyboardInterrupt:
            for job in self._all:
                if isinstance(
                    job, LocalJob
                ):  # a cluster's go on; those here would be left behind
                    job.cancel()
            raise

"""How Hydra runs a sweep of rsbench: each job composed once, none killed with another.

Hydra imports this module in every application of its environment, to see what plugins
are there. So nothing but Hydra is imported here until a sweep begins.
"""

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus, configure_log, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

log = logging.getLogger("rsbench")


@dataclass
class ExperimentSweeperConf:
    """What `hydra/sweeper=rsbench` can be told.

    Parameters
    ----------
    max_batch_size : int or None
        So many jobs are handed to the launcher at a time; None: all, with
        submitit_local one for each core.
    params : dict
        What an experiment goes over, as on the command line.
    """

    _target_: str = "hydra_plugins.rsbench_sweeps.ExperimentSweeper"
    max_batch_size: int | None = None
    params: dict[str, Any] = field(default_factory=dict)


ConfigStore.instance().store(
    group="hydra/sweeper", name="rsbench", node=ExperimentSweeperConf
)


class ExperimentSweeper(Sweeper):
    """Run all combinations of what is given, but for controls that change nothing.

    Parameters
    ----------
    max_batch_size : int or None
        How many jobs the launcher gets at a time; None for all of them.
    params : mapping
        What the experiment goes over, each value as on the command line.
    """

    hydra_context: HydraContext
    config: DictConfig

    def __init__(self, max_batch_size: int | None, params: dict[str, Any]):
        self.max_batch_size = max_batch_size
        self.params = params

    def setup(
        self,
        *,
        hydra_context: HydraContext,
        task_function: TaskFunction,
        config: DictConfig,
    ) -> None:
        """Take what Hydra hands to every sweeper."""
        self.hydra_context = hydra_context
        self.task_function = task_function
        self.config = config

    def sweep(self, arguments: list[str]) -> list[JobReturn]:
        """Plan the jobs, write down which they are, and run them."""
        from rsbench.cli.plan import note_left_out, plan
        from rsbench.plugins import registry
        from rsbench.store.sweep import read_sweep, write_sweep

        folder = Path(self.config.hydra.sweep.dir)
        OmegaConf.save(self.config, folder / "multirun.yaml")
        given = [f"{key}={value}" for key, value in self.params.items()]
        given += arguments
        loader = self.hydra_context.config_loader
        parser = OverridesParser.create(config_loader=loader)
        loaded = registry.load(Path(self.config.hydra.runtime.cwd))
        overrides = parser.parse_overrides(given)
        jobs, left_out = plan(loaded, overrides, self._compose)
        note_left_out(left_out)
        planned = [job.overrides for job in jobs]
        sweep = read_sweep(folder)
        if sweep is not None:
            listed = tuple(tuple(words) for words in planned)
            write_sweep(folder, dataclasses.replace(sweep, jobs=listed))
        if self.config.hydra.runtime.choices["hydra/launcher"] == "basic":
            configs = [job.config for job in jobs]
            jobs.clear()  # so that each config is let go of once its job is done
            returns = self._run_here(configs)
        else:
            returns = self._launch(planned)
        for each in returns:
            # A job keeps its errors to itself; one that could not is told by this.
            _ = each.return_value
        return returns

    def _compose(self, overrides: list[str]) -> DictConfig:
        loader = self.hydra_context.config_loader
        return loader.load_sweep_config(self.config, overrides)

    def _run_here(self, configs: list[DictConfig]) -> list[JobReturn]:
        """Run the jobs in this process, one after the other, as they were composed."""
        setup_globals()
        hydra = self.config.hydra
        returns = []
        # Popped from the end, in the order of the jobs: see `sweep`.
        configs.reverse()
        for number in range(len(configs)):
            config = configs.pop()
            with open_dict(config):
                config.hydra.job.id = str(number)
                config.hydra.job.num = number
            done = run_job(
                hydra_context=self.hydra_context,
                task_function=self.task_function,
                config=config,
                job_dir_key="hydra.sweep.dir",
                job_subdir_key="hydra.sweep.subdir",
            )
            # Two copies of the config would stay in memory for each job of the sweep.
            done.cfg = None
            done.hydra_cfg = None
            returns.append(done)
            # A job's own logging ends with it.
            configure_log(hydra.hydra_logging, hydra.verbose)
        return returns

    def _launch(self, jobs: list[list[str]]) -> list[JobReturn]:
        """Hand the jobs to the launcher, in batches."""
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=self.hydra_context,
            task_function=self.task_function,
            config=self.config,
        )
        size = self._batch_size(len(jobs))
        returns: list[JobReturn] = []
        for first in range(0, len(jobs), size):
            batch = jobs[first : first + size]
            returns += launcher.launch(batch, initial_job_idx=first)
        return returns

    def _batch_size(self, jobs: int) -> int:
        if self.max_batch_size is not None:
            return self.max_batch_size
        if self.config.hydra.runtime.choices["hydra/launcher"] == "submitit_local":
            # Other launchers queue what they are given; this one starts it all at once.
            from rsbench.files.places import cores

            return cores()
        return jobs


class _Submitit(Launcher):
    """Run jobs by submitit, and outlive those that are killed.

    The launcher that this one stands in for gives up at the first job without a result,
    while the others go on unseen. Here all are waited for; a job that came to no end is
    known by its folder.

    Parameters
    ----------
    **params : Any
        Those of Hydra's launcher for submitit.
    """

    cluster: ClassVar[str]

    def __init__(self, **params: Any):
        self.params = params

    def setup(
        self,
        *,
        hydra_context: HydraContext,
        task_function: TaskFunction,
        config: DictConfig,
    ) -> None:
        """Set Hydra's own launcher up, which is what runs in a job."""
        from hydra_plugins.hydra_submitit_launcher import submitit_launcher

        launchers = {
            "local": submitit_launcher.LocalLauncher,
            "slurm": submitit_launcher.SlurmLauncher,
        }
        self.config = config
        self.job = launchers[self.cluster](**self.params)
        self.job.setup(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> list[JobReturn]:
        """Submit the jobs as one array, and wait for all of them."""
        from hydra.core.singleton import Singleton

        Path(self.config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
        state = Singleton.get_state()
        arguments = []
        for number, overrides in enumerate(job_overrides, start=initial_job_idx):
            key = "hydra.sweep.dir"
            arguments.append((list(overrides), key, number, f"job {number}", state))
        jobs = self._executor().map_array(self.job, *zip(*arguments, strict=True))
        try:
            return [_result(job) for job in jobs]
        except KeyboardInterrupt:
            if self.cluster == "local":
                # A cluster's jobs go on; these would be left behind.
                for job in jobs:
                    job.cancel()
            raise

    def _executor(self) -> Any:
        """Return submitit's executor, with the launcher's parameters as its own."""
        import submitit
        from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf

        shared = {field.name for field in dataclasses.fields(BaseQueueConf)}
        params = dict(self.job.params)
        init = {"folder": params.pop("submitit_folder")}
        for name in ("max_num_timeout", "python"):
            if name in params:
                init[f"{self.cluster}_{name}"] = params.pop(name)
        executor = submitit.AutoExecutor(cluster=self.cluster, **init)
        named = {}
        for name, value in params.items():
            # submitit wants the name of the cluster before what only that knows.
            if name not in shared:
                name = f"{self.cluster}_{name}"
            named[name] = value
        executor.update_parameters(**named)
        return executor


def _result(job: Any) -> JobReturn:
    """Wait for a job's result; a job that was killed has none."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        return job.results()[0]
    except (UncompletedJobError, FailedJobError) as error:
        what = str(error).splitlines()[0]
        where = job.paths.stderr
        log.warning("a job did not come to its end (%s): %s", what, where)
        return JobReturn(status=JobStatus.COMPLETED)


class SubmititLocal(_Submitit):
    """Run jobs in processes of this machine."""

    cluster = "local"


class SubmititSlurm(_Submitit):
    """Run jobs on a Slurm cluster."""

    cluster = "slurm"

"""One Hydra job: from its config to a finished record, and its mirror in MLflow."""

import dataclasses
import functools
import logging
import math
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig
from tqdm import tqdm

from rsbench.cli.prepare import Prepared, prepare
from rsbench.cli.status import ERROR_FILE, being_run
from rsbench.errors import UserError
from rsbench.files.atomic import write_atomic
from rsbench.files.places import seen_from
from rsbench.store import record
from rsbench.store.record import Run
from rsbench.store.sweep import Sweep, read_sweep

log = logging.getLogger("rsbench")


def job(cfg: DictConfig) -> float | None:
    """Run one method.

    What goes wrong is kept in the job's folder for the summing up, and stops no other
    job. A sweeper that tunes gets the error, if it is one on validation classes.
    """
    # A log that cannot be written, as on a full disk, must not hide what is said of it.
    logging.raiseExceptions = False
    hydra_cfg = HydraConfig.get()
    folder = Path(hydra_cfg.runtime.output_dir)
    here = Path(hydra_cfg.runtime.cwd)
    number = 0
    sweep = None
    if hydra_cfg.mode == RunMode.MULTIRUN:
        number = hydra_cfg.job.num
        sweep_folder = Path(hydra_cfg.sweep.dir)
        # Jobs may run in other processes, or on other machines: they share the folder.
        if cfg.on_error == "stop" and any(sweep_folder.rglob(ERROR_FILE)):
            return None
        sweep = read_sweep(sweep_folder)
    with being_run(folder, number):
        try:
            # A launcher may have moved to another folder than the command's.
            with seen_from(here):
                run, is_new = _compute(cfg, folder, sweep)
        except Exception as error:
            _keep(error, folder)
            return None
        (folder / ERROR_FILE).unlink(missing_ok=True)
    if is_new:
        log.info("%s", _line(run))
    else:
        log.info("%-17s finished earlier, left as it is", run.info.label)
    # As soon as it is done, so that MLflow shows how far a long sweep has come.
    if sweep and sweep.tracked:
        from rsbench.tracking.mirror import send_child

        send_child(run, sweep)
    if cfg.learn_on == "validation":
        return _cumulative_error(run)[1]
    return None


def _keep(error: Exception, folder: Path) -> None:
    """Write what went wrong and, unless a user can put it right, the traceback."""
    text = str(error)
    if not isinstance(error, UserError):
        # A blank line is what stands between the message and the traceback.
        summary = f"{type(error).__name__}: {error}".replace("\n\n", "\n")
        text = f"{summary}\n\n{traceback.format_exc()}"
    try:
        write_atomic(folder / ERROR_FILE, text)
    except UserError:  # a full disk: the error itself is what matters
        raise error from None


def _compute(cfg: DictConfig, folder: Path, sweep: Sweep | None) -> tuple[Run, bool]:
    """Return the job's finished run, and whether it was not in the folder already."""
    started = time.perf_counter()
    hydra_cfg: Any = HydraConfig.get()
    swept: tuple[str, ...] = ()
    if sweep is not None:
        swept = sweep.swept
    prepared = prepare(cfg, hydra_cfg, swept)
    data = prepared.data_info
    if data.simulated:
        _say_simulated(data.name, data.how_to_get_real)
    earlier = record.finished(folder)
    if earlier is not None:
        if not prepared.config["force"] and prepared.is_answered_by(earlier):
            return earlier, False
        # Now, so that while it is computed anew nobody takes the old one for it.
        record.set_aside(folder)
    with _progress_bar(prepared.label, prepared.total) as bar:
        run = prepared.run(functools.partial(_advance, bar))
    seconds = round(time.perf_counter() - started, 3)
    info = dataclasses.replace(
        run.info,
        replaces=_replaced(earlier),
        changed_after=_changed_after(prepared, earlier),
        seconds=seconds,
    )
    return record.write_record(folder, dataclasses.replace(run, info=info)), True


def _changed_after(prepared: Prepared, earlier: Run | None) -> tuple[str, ...]:
    """Return how results are judged that was changed when they were there."""
    if earlier is None:
        return ()
    found = list(earlier.info.changed_after)
    if earlier.info.fingerprint == prepared.task.identity.fingerprint:
        for key in ("judged_step", "margin"):
            if earlier.info.config.get(key) != prepared.config[key]:
                found.append(key)
    return tuple(dict.fromkeys(found))


def _progress_bar(label: str, seeds: int) -> tqdm:
    """Return a bar for a terminal; in a log it shows nothing."""
    look = "{desc} {percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
    quiet = not sys.stderr.isatty()
    return tqdm(total=seeds, desc=label, bar_format=look, leave=False, disable=quiet)


def _advance(bar: tqdm, seeds: float) -> None:
    """Move a bar to so many seeds; `update` alone would add them."""
    bar.n = seeds
    bar.update(0)


def _replaced(earlier: Run | None) -> tuple[str, ...]:
    """Return the ids of the records that a new one takes the place of."""
    if earlier is None:
        return ()
    return (earlier.info.id, *earlier.info.replaces)


@functools.cache
def _say_simulated(name: str, hint: str | None) -> None:
    """Say it once for each data set, however many runs use it."""
    how = ""
    if hint:
        how = f" {hint}."
    log.warning("SIMULATED data (%s).%s", name, how)


def _cumulative_error(run: Run) -> tuple[int, float, float]:
    """Return the step it is judged at; mean error and standard error there."""
    step = run.judged_step
    i = run.steps.index(step)
    mean = float(run.mean("cumulative_error")[i])
    return step, mean, float(run.standard_error("cumulative_error")[i])


def _line(run: Run) -> str:
    """Return a line for the terminal on a run that has just finished."""
    step, mean, deviation = _cumulative_error(run)
    # A single seed has no spread.
    spread = ""
    seeds = "1 seed"
    if not math.isnan(deviation):
        spread = f" ± {100 * deviation:.1f}"
    if run.n_seeds > 1:
        seeds = f"{run.n_seeds} seeds"
    if run.n_draws > 1:
        seeds = f"{run.n_draws} draws of {seeds}"
    if run.info.reused:
        seeds += f", {len(run.info.reused)} reused"
    return (
        f"{run.info.label:<17} cumulative error {100 * mean:.1f}{spread} % "
        f"at {step} {run.info.unit}, {seeds}, {run.info.seconds:.1f} s"
    )

"""One Hydra job: from its config to a finished record, and its mirror in MLflow."""

import contextlib
import functools
import logging
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from rsbench import registry, results
from rsbench.errors import UserError
from rsbench.run import Spec, run_seed

log = logging.getLogger("rsbench")

ERROR_FILE = "error.txt"


def job(cfg: DictConfig) -> None:
    """Run one method; what goes wrong is kept in the job's folder for the summing up."""
    folder = Path(HydraConfig.get().runtime.output_dir)
    try:
        config: Any = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
        run = _compute(config, folder)
    except Exception as error:
        with contextlib.suppress(UserError):  # a full disk; the error itself is what matters
            results.write_whole(folder / ERROR_FILE, _error_text(error))
        raise
    if config["tracking"]["name"] == "mlflow":
        from rsbench.tracking import send_job

        send_job(run, config["tracking"], _sweep_folder())


def _error_text(error: Exception) -> str:
    """What went wrong and, unless it is the user's to put right, a blank line and the traceback."""
    if isinstance(error, UserError):
        return str(error)
    summary = f"{type(error).__name__}: {error}".replace("\n\n", "\n")
    return f"{summary}\n\n{traceback.format_exc()}"


def _compute(config: dict[str, Any], folder: Path) -> results.Run:
    choices = HydraConfig.get().runtime.choices
    method = method_name(config)
    started = time.perf_counter()
    spec = Spec(registry.load(), config)
    _check_seeds(config)
    spec.check()
    # One thread per job: results then do not depend on the number of cores, and parallel jobs do not
    # fight for them.
    with threadpool_limits(1):
        data = spec.load()
        real = getattr(spec.build("dataset"), "how_to_get_real", None) if data.simulated else None
        if data.simulated:
            _say_simulated(config["dataset"]["name"], real)
        record, tuned, classes = results.Record(folder), {}, 0
        seeds = range(config["seed"], config["seed"] + config["seeds"])
        for seed in tqdm(seeds, desc=method, unit="seed", leave=False, disable=not sys.stderr.isatty()):
            done = run_seed(spec, data, seed)
            record.add(done.rows)
            tuned[seed], classes = done.tuned, done.classes
    run = record.finish(
        {
            "method": method,
            "label": _label(method, config),
            "experiment": choices.get("experiment"),
            "config": config,
            "fingerprint": results.fingerprint(config, data.identity),
            "seeds": list(seeds),
            "versions": results.versions(),
            "git_commit": results.git_commit(),
            "data": {"name": config["dataset"]["name"], "identity": data.identity, "simulated": data.simulated},
            "classes": classes,
            "unit": spec.build("protocol").unit,
            "tuned": {seed: chosen for seed, chosen in tuned.items() if chosen},
            "how_to_get_real": real,
            "seconds": round(time.perf_counter() - started, 3),
        }
    )
    log.info("%s", _line(run))
    return run


def method_name(config: dict[str, Any]) -> str:
    """The chosen method if its learner and aggregator are unchanged, else both by name."""
    parts = (config["learner"]["name"], config["aggregator"]["name"])
    method = HydraConfig.get().runtime.choices.get("method")
    return method if method is not None and _method_parts(method) == parts else "+".join(parts)


def _method_parts(method: str) -> tuple[str | None, str | None]:
    """The learner and aggregator that a method's own config chooses."""
    for source in HydraConfig.get().runtime.config_sources:
        path = Path(source.path) / "method" / f"{method}.yaml"
        if source.schema == "file" and path.exists():
            chosen = {key: value for entry in OmegaConf.load(path).defaults for key, value in dict(entry).items()}
            return chosen.get("override /learner"), chosen.get("override /aggregator")
    return method, "sample"  # made from the learner of that name


def _check_seeds(config: dict[str, Any]) -> None:
    for key, least in (("seed", 0), ("seeds", 1)):
        if not isinstance(config[key], int) or isinstance(config[key], bool) or config[key] < least:
            raise UserError(f"{key}={config[key]!r}, expected a whole number from {least} on")


def _sweep_folder() -> Path | None:
    cfg = HydraConfig.get()
    return Path(cfg.sweep.dir) if cfg.mode == RunMode.MULTIRUN else None


@functools.cache
def _say_simulated(name: str, hint: str | None) -> None:
    """Once for each data set, however many runs use it."""
    log.warning("SIMULATED data (%s).%s", name, f" {hint}." if hint else "")


def _label(method: str, config: dict[str, Any]) -> str:
    """The method, the preprocessor if any, and the parameters that the command set and may be sweeping."""
    kinds = ("learner.", "aggregator.", "preprocessor.", "protocol.", "annotation.", "dataset.")
    changed = [word for word in HydraConfig.get().overrides.task if word.startswith(kinds)]
    before = config["preprocessor"]["name"]
    return " ".join([method, *([] if before == "none" else [before]), *changed])


def _line(run: results.Run) -> str:
    step = run.table_steps()[-1]
    i = run.steps.index(step)
    mean, deviation = 100 * run.mean("cumulative_error")[i], 100 * run.standard_error("cumulative_error")[i]
    spread = "" if run.seeds < 2 else f" ± {deviation:.1f}"
    return (
        f"{run.info['label']:<17} cumulative error {mean:.1f}{spread} % at {step} {run.info['unit']}, "
        f"{run.seeds} seeds, {run.info['seconds']:.1f} s"
    )

"""One Hydra job: from its config to a finished record, and its mirror in MLflow."""

import dataclasses
import functools
import json
import logging
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from tqdm import tqdm

from rsbench.cli.status import ERROR_FILE, being_run
from rsbench.core.data import Data, identity
from rsbench.core.experiment import SeedResult, Spec, run_seed, unit
from rsbench.core.tuning import candidates, held_out, tune
from rsbench.errors import UserError
from rsbench.files.atomic import write_whole
from rsbench.plugins import registry
from rsbench.store import record as results
from rsbench.store.seeds import seed_result
from rsbench.tracking.mirror import settings

log = logging.getLogger("rsbench")


def job(cfg: DictConfig) -> float | None:
    """Run one method; what goes wrong is kept in the job's folder for the summing up, and stops no other job.

    Gives the error to a sweeper that tunes, if it is one on validation classes.
    """
    folder, sweep_folder = Path(HydraConfig.get().runtime.output_dir), _sweep_folder()
    if sweep_folder and cfg.on_error == "stop" and any(sweep_folder.rglob(ERROR_FILE)):
        return None
    sweep = results.read_sweep(sweep_folder)
    with being_run(folder, HydraConfig.get().job.num if sweep_folder else 0):
        try:
            config: Any = OmegaConf.to_container(
                cfg, resolve=True, throw_on_missing=True
            )
            run, new = _compute(config, folder, sweep)
        except Exception as error:
            try:
                write_whole(folder / ERROR_FILE, _error_text(error))
            except UserError:  # a full disk: the error itself is what matters
                raise error from None
            return None
        (folder / ERROR_FILE).unlink(missing_ok=True)
    log.info(
        "%s",
        _line(run)
        if new
        else f"{run.info['label']:<17} finished earlier, left as it is",
    )
    if sweep and sweep["tracked"]:
        from rsbench.tracking.mirror import send_child

        send_child(run, sweep)
    return _cumulative_error(run)[1] if config["learn_on"] == "validation" else None


def _error_text(error: Exception) -> str:
    """What went wrong and, unless it is the user's to put right, a blank line and the traceback."""
    if isinstance(error, UserError):
        return str(error)
    summary = f"{type(error).__name__}: {error}".replace("\n\n", "\n")
    return f"{summary}\n\n{traceback.format_exc()}"


def _compute(
    config: dict[str, Any], folder: Path, sweep: dict[str, Any] | None
) -> tuple[results.Run, bool]:
    """The job's finished run, and whether it was not in the folder already."""
    method, preprocessor = _method(config), _preprocessor(config)
    label = " ".join(
        [
            method,
            *([] if preprocessor == "none" else [preprocessor]),
            *_swept_values(sweep),
        ]
    )
    started = time.perf_counter()
    results.code_identity()  # of the sources as they are now, not once data have been read for hours
    check_settings(config)
    tracking = settings(config["tracking"], Path(HydraConfig.get().runtime.cwd))
    spec = Spec(registry.load(), config)
    spec.check()
    candidates(config["tune"])
    data = _load(
        json.dumps({key: config[key] for key in ("dataset", "extractor", "learn_on")})
    )
    if data.simulated:
        _say_simulated(config["dataset"]["name"], data.how_to_get_real)
    plugins = _plugins(spec)
    used = sorted(plugin["sha256"] for plugin in plugins if plugin["components"])
    fingerprint = results.fingerprint(
        config, [data.identity, *data.names.classes], used
    )
    seeds = range(config["seed"], config["seed"] + config["seeds"])
    earlier = results.finished(folder)
    if earlier and not config["force"] and earlier.answers(fingerprint, seeds):
        return earlier, False
    if earlier:
        results.set_aside(folder)
    done, reused = _learn(spec, data, seeds, fingerprint, label)
    record = results.Record(folder)
    for result in done.values():
        record.add(result.rows, result.per_class)
    last = done[seeds[-1]]
    run = record.finish(
        {
            "method": method,
            "preprocessor": preprocessor,
            "label": label,
            "experiment": HydraConfig.get().runtime.choices.get("experiment"),
            "config": config,
            "overrides": list(HydraConfig.get().overrides.task),
            "tracking": tracking,
            "fingerprint": fingerprint,
            "plugins": plugins,
            "seeds": list(seeds),
            "reused": reused,
            "replaces": [earlier.info["id"], *earlier.info.get("replaces", ())]
            if earlier
            else [],
            "versions": results.versions(),
            "git_commit": results.git_commit(),
            "data": _describe(config, data),
            "classes": last.classes,
            "samples": last.samples,
            "unit": unit(spec.build("protocol")),
            "tuned": {
                seed: result.tuned for seed, result in done.items() if result.tuned
            },
            "bound": {
                key: float(np.mean([result.bound[key] for result in done.values()]))
                for key in last.bound
            },
            "seconds": round(time.perf_counter() - started, 3),
        }
    )
    return run, True


def _learn(
    spec: Spec, data: Data, seeds: range, fingerprint: str, label: str
) -> tuple[dict[int, SeedResult], list[int]]:
    """The results of all seeds, each kept as soon as it is there, and which of them were there already."""
    chosen = functools.cache(
        functools.partial(tune, spec, data)
    )  # which only a seed to be computed needs
    done: dict[int, SeedResult] = {}
    reused = []
    with _progress_bar(label, len(seeds)) as bar:
        for seed in seeds:
            tell = functools.partial(_advance, bar, seed - seeds[0])
            compute = functools.partial(_run_tuned, chosen, data, seed, tell)
            done[seed], known = seed_result(
                fingerprint, seed, compute, spec.config["force"]
            )
            tell(1.0)
            reused += [seed] if known else []
    return done, reused


def _run_tuned(
    chosen: Callable[[], tuple[Spec, dict[str, Any]]],
    data: Data,
    seed: int,
    tell: Callable[[float], Any],
) -> SeedResult:
    spec, values = chosen()
    result = run_seed(spec, data, seed, tell)
    return dataclasses.replace(result, tuned=values | result.tuned)


@functools.lru_cache(maxsize=1)
def _load(parts: str) -> Data:
    """The data of these settings; jobs of a sweep that share a process mostly share them too."""
    config = json.loads(parts)
    data = Spec(registry.load(), config).load()
    if config["learn_on"] == "few_shot":
        return data
    held = held_out(data)
    return dataclasses.replace(
        held,
        identity=identity(held),
        simulated=data.simulated,
        how_to_get_real=data.how_to_get_real,
        details=data.details,
    )


def _progress_bar(label: str, seeds: int) -> tqdm:
    """A bar on a terminal, nothing in a log."""
    look = "{desc} {percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
    return tqdm(
        total=seeds,
        desc=label,
        bar_format=look,
        leave=False,
        disable=not sys.stderr.isatty(),
    )


def _advance(bar: tqdm, seeds: int, share: float) -> None:
    bar.n = seeds + share
    bar.update(0)


def _describe(config: dict[str, Any], data: Data) -> dict[str, Any]:
    classes = "" if config["learn_on"] == "few_shot" else ", validation classes"
    described = {
        "name": config["dataset"]["name"] + classes,
        "identity": data.identity,
        "simulated": data.simulated,
    }
    hint = {"how_to_get_real": data.how_to_get_real} if data.how_to_get_real else {}
    return {**described, **hint, **({"details": data.details} if data.details else {})}


def _method(config: dict[str, Any]) -> str:
    """The chosen method, unless the command changed its learner or aggregator: then both by name."""
    cfg = HydraConfig.get()
    changed = {word.partition("=")[0] for word in cfg.overrides.task} & {
        "learner",
        "aggregator",
    }
    method = cfg.runtime.choices.get("method")
    if method is None or changed:
        return f"{config['learner']['name']}+{config['aggregator']['name']}"
    return method


def _preprocessor(config: dict[str, Any]) -> str:
    """The preprocessor as it stands in every table: by name, and on what it is fitted if not background."""
    made = registry.load().build("preprocessor", config["preprocessor"])
    seen = hasattr(made, "fit") and getattr(made, "fit_on", None) == "seen"
    return config["preprocessor"]["name"] + (" (seen)" if seen else "")


def _swept_values(sweep: dict[str, Any] | None) -> list[str]:
    """The job's values of what the sweep goes over, beside the method and the preprocessor."""
    swept = set(sweep["swept"]) - {"method", "preprocessor"} if sweep else set()
    return [
        word
        for word in HydraConfig.get().overrides.task
        if word.partition("=")[0].lstrip("+") in swept
    ]


def _plugins(spec: Spec) -> list[dict[str, Any]]:
    """All plugins that were loaded, since any of them can change what is computed, and what the run uses of each."""
    used = [
        spec.registry.get(kind, spec.config[kind]["name"])
        for kind in spec.registry.components
    ]
    return [
        {
            "plugin": Path(name).name if Path(name).suffix == ".py" else name,
            "version": part.version,
            "sha256": part.identity,
            "components": [f"{c.kind}={c.name}" for c in used if c.plugin == name],
        }
        for name, parts in spec.registry.plugins.items()
        for part in parts
        if not name.startswith("rsbench.")
    ]


def check_settings(config: Mapping[Any, Any]) -> None:
    """Raise an error unless the settings of the run itself make sense."""
    choices = {
        "force": (True, False),
        "on_error": ("continue", "stop"),
        "learn_on": ("few_shot", "validation"),
    }
    for key, allowed in choices.items():
        if config.get(key) not in allowed:
            raise UserError(
                f"{key}={config.get(key)!r}, expected {' or '.join(map(str, allowed)).lower()}"
            )
    for key, least in (("seed", 0), ("seeds", 1)):
        value = config.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UserError(f"{key}={value!r}, expected a whole number from {least} on")


def _sweep_folder() -> Path | None:
    cfg = HydraConfig.get()
    return Path(cfg.sweep.dir) if cfg.mode == RunMode.MULTIRUN else None


@functools.cache
def _say_simulated(name: str, hint: str | None) -> None:
    """Once for each data set, however many runs use it."""
    log.warning("SIMULATED data (%s).%s", name, f" {hint}." if hint else "")


def _cumulative_error(run: results.Run) -> tuple[int, float, float]:
    """The last of the table's steps, and there the mean error and its standard error."""
    step = run.table_steps()[-1]
    i = run.steps.index(step)
    return (
        step,
        float(run.mean("cumulative_error")[i]),
        float(run.standard_error("cumulative_error")[i]),
    )


def _line(run: results.Run) -> str:
    step, mean, deviation = _cumulative_error(run)
    spread = "" if run.seeds < 2 else f" ± {100 * deviation:.1f}"
    reused = f", {len(run.info['reused'])} reused" if run.info.get("reused") else ""
    return (
        f"{run.info['label']:<17} cumulative error {100 * mean:.1f}{spread} % at {step} {run.info['unit']}, "
        f"{run.seeds} seed{'' if run.seeds == 1 else 's'}{reused}, {run.info['seconds']:.1f} s"
    )

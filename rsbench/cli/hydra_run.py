"""The Hydra run: look at the command once before anything is written, run it, then sum up.

Hydra calls no callback when a job fails or on Ctrl-C, and swallows errors in those it calls. So
what belongs to a sweep's start and end is done here, around it.
"""

import argparse
import logging
import os
import secrets
import shutil
import sys
import traceback
import uuid
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rsbench import configs, registry
from rsbench.cli.job import ERROR_FILE, job
from rsbench.errors import UserError, did_you_mean
from rsbench.results import PARTIAL_FILE, SWEEP_FILE, Run, find, read_sweep, write_sweep, write_whole
from rsbench.run import Spec

#: Hydra flags that only show something.
_SHOW = {"--help", "-h", "--hydra-help", "--version", "--cfg", "-c", "--info", "-i", "--shell-completion", "-sc"}

#: Files whose presence means that a folder holds results.
_RESULTS = ("curves.csv", PARTIAL_FILE, ERROR_FILE, SWEEP_FILE, "multirun.yaml")


def main(argv: list[str]) -> int:
    """Run the command line and return its exit code."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    configs.store(registry.load())
    OmegaConf.register_new_resolver("rsbench.unique", lambda: secrets.token_hex(3), use_cache=True, replace=True)
    verbose = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors reach us: Hydra would print and exit
    try:
        return _show(argv) if _SHOW & {word.split("=")[0] for word in argv} else _run(argv)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if verbose or not isinstance(error, (UserError, HydraException, OmegaConfBaseException)):
            traceback.print_exc()
        else:
            print(f"error: {explain(error)}", file=sys.stderr)
        return 1


def _hydra(argv: list[str]) -> None:
    sys.argv = [sys.argv[0], *argv]
    hydra.main(config_path=str(configs.CONF), config_name="config", version_base="1.3")(job)()


def _show(argv: list[str]) -> int:
    _hydra(argv)
    return 0


def _run(argv: list[str]) -> int:
    cfg, swept = _look(argv)
    key = "hydra.run.dir" if swept is None else "hydra.sweep.dir"
    folder, new = _make_folder(OmegaConf.select(cfg, key))
    status = "FAILED"
    try:
        if swept is not None:
            _open_sweep(cfg, folder, swept)
        _hydra([*argv, f"{key}={_quote(folder)}"])
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        print(f"\nstopped; finished runs are intact in {_shown(folder)}", file=sys.stderr)
        raise
    except Exception:
        # A job's own error is told with the others by _sum_up; anything else happened outside of jobs.
        if not list(folder.rglob(ERROR_FILE)):
            raise
    finally:
        _sum_up(folder, new, cfg, status)
    return 0 if status == "FINISHED" else 1


def _look(argv: list[str]) -> tuple[DictConfig, list[str] | None]:
    """The config that the command leads to, and for a sweep what it goes over; nothing is written."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--config-dir", "-cd")
    args, rest = parser.parse_known_args(argv)
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        raise UserError(f"unknown option {unknown[0]}. Settings are given as KEY=VALUE; see python -m rsbench --help")
    overrides = OverridesParser.create().parse_overrides(rest)
    plain = [_first_choice(override) for override in overrides]
    if args.config_dir:
        plain.append(f"hydra.searchpath=[{_quote('file://' + os.path.abspath(args.config_dir))}]")
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(configs.CONF), job_name="rsbench"):
        cfg = hydra.compose("config", overrides=plain, return_hydra_config=True)
        swept = _swept(cfg, overrides)
        if not cfg.hydra.searchpath:  # whose folders may hold choices that are not known here
            _check_choices(swept)
    sweep = args.multirun or cfg.hydra.mode == RunMode.MULTIRUN
    if sweep:
        _check_sweep(swept, overrides)
    parts = {kind: _plain(cfg[kind]) for kind in registry.load().components}
    Spec(registry.load(), parts).check()
    return cfg, list(swept) if sweep else None


def _swept(cfg: DictConfig, overrides: list[Override]) -> dict[str, Override]:
    """What the experiment and the command sweep over, the command having the last word."""
    params = [f"{key}={value}" for key, value in (cfg.hydra.sweeper.get("params") or {}).items()]
    every = {o.key_or_group: o for o in [*OverridesParser.create().parse_overrides(params), *overrides]}
    return {key: override for key, override in every.items() if override.is_sweep_override()}


def _first_choice(override: Override) -> str:
    line = override.input_line or ""
    if not override.is_sweep_override():
        return line
    key = override.get_key_element()
    if override.is_discrete_sweep():
        return f"{key}={next(iter(override.sweep_string_iterator()))}"
    raise UserError(f"{line}: only lists of values can be swept, such as {key}=1,2,3 or {key}=range(1,4)")


def _check_choices(swept: dict[str, Override]) -> None:
    """Every choice of a swept config group exists; Hydra would tell only once the sweep is under way."""
    loader = GlobalHydra.instance().config_loader()
    for group, override in swept.items():
        options = loader.get_group_options(group) if override.is_discrete_sweep() else []
        for choice in override.sweep_string_iterator() if options else ():
            if choice not in (*options, "null"):
                raise UserError(f"unknown {group} '{choice}'. {did_you_mean(choice, options)}")


def _check_sweep(swept: dict[str, Override], overrides: list[Override]) -> None:
    given = {override.key_or_group: override for override in overrides}
    if "hydra.run.dir" in given:
        raise UserError("hydra.run.dir is for a single run; this is a sweep: give hydra.sweep.dir")
    for kind in ("learner", "aggregator"):
        if kind in given and "method" in swept:
            value = given[kind].get_value_element_as_str()
            way = (
                f"Name it as a method: method={value}"
                if kind == "learner"
                else f"Choose one: method=NAME {kind}={value}"
            )
            raise UserError(f"{kind}={value} beside a sweep over methods would give all the same {kind}. {way}")


def _make_folder(name: str) -> tuple[Path, bool]:
    """The output folder, writable, and whether it is new."""
    folder = Path(name).absolute()
    new = not folder.exists()
    taken = [file for file in _RESULTS if (folder / file).exists()]
    if taken:
        raise UserError(f"{folder} holds the results of another command ({taken[0]}): choose a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"cannot write to the output folder {folder}: {error.strerror}. "
            "Choose another with hydra.run.dir=DIR (a sweep: hydra.sweep.dir=DIR)"
        ) from None
    return folder, new


def _open_sweep(cfg: DictConfig, folder: Path, swept: list[str]) -> None:
    name = f"{cfg.hydra.runtime.choices.get('experiment') or 'sweep'} {folder.name}"
    sweep = {"id": uuid.uuid4().hex, "name": name, "swept": swept, "tracked": False}
    if cfg.tracking.name == "mlflow":
        from rsbench.tracking import open_sweep

        sweep["tracking"] = {"uri": cfg.tracking.uri, "experiment": cfg.tracking.experiment}
        sweep["tracked"] = open_sweep(sweep, folder)
    write_sweep(folder, sweep)


def _plain(cfg: DictConfig) -> dict[str, Any]:
    settings: Any = OmegaConf.to_container(cfg, resolve=True)
    return settings


def _sum_up(folder: Path, new: bool, cfg: DictConfig, status: str) -> None:
    """Table and figure of what finished, then what failed; nothing is left of a command in which nothing ran."""
    runs = find(folder)
    failed = {file: file.read_text().partition("\n\n") for file in sorted(folder.rglob(ERROR_FILE))}
    unexpected = [file for file, (_, _, trace) in failed.items() if trace]
    kept = bool(runs or unexpected or list(folder.rglob(PARTIAL_FILE)))
    if runs:
        _show_runs(runs, folder)
    if cfg.tracking.name == "mlflow":
        _end_tracking(runs, folder, cfg, status, kept)
    for message in dict.fromkeys(message for message, _, _ in failed.values()):
        print(f"error: {message.strip()}", file=sys.stderr)
    if unexpected:
        print(f"traceback: {_shown(unexpected[0])}", file=sys.stderr)
    if failed and runs:
        print(f"{len(failed)} of {len(failed) + len(runs)} runs failed", file=sys.stderr)
    if new and not kept:
        shutil.rmtree(folder, ignore_errors=True)


def _show_runs(runs: list[Run], folder: Path) -> None:
    from rsbench.report import draw, make_tables

    tables = make_tables(runs)
    write_whole(folder / "table.md", tables)
    print(f"\n{tables}")
    print(f"table   {_shown(folder / 'table.md')}")
    print(f"figure  {_shown(draw(runs, folder / 'curves.png'))}")


def _end_tracking(runs: list[Run], folder: Path, cfg: DictConfig, status: str, kept: bool) -> None:
    from rsbench import tracking

    sweep, shown = read_sweep(folder), None
    if sweep and not kept:
        tracking.discard_sweep(sweep)
    elif sweep:
        sweep["status"] = status
        write_sweep(folder, sweep)
        shown = tracking.close_sweep(folder, sweep)
    elif runs:
        shown = tracking.close_run(runs[0], _plain(cfg.tracking))
    if shown is None or not runs:
        return
    tracker, page = shown
    if tracker.database:
        print(f"MLflow  mlflow ui --backend-store-uri sqlite:///{_shown(tracker.database)}")
        print(f"        then open http://127.0.0.1:5000{page}")
    else:
        print(f"MLflow  {tracker.uri}{page}")


def _shown(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _quote(value: Any) -> str:
    """A value that Hydra's override grammar takes as it is."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def explain(error: Exception) -> str:
    """An error of Hydra or OmegaConf with a suggestion, where the mistake is a misspelt name."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        message = f"unknown {group} '{name}'. {did_you_mean(name, error.options)}"
        for broken in registry.load().broken:
            message += f"\nThe plugin {broken.plugin} is broken and was left out: {broken.cause}"
        return message
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(cause, OmegaConfBaseException) and "not in" in str(cause) and cause.parent_node is not None:
        known = [str(key) for key in cause.parent_node if key != "hydra"]
        return f"unknown setting '{cause.full_key}'. {did_you_mean(str(cause.key), known)}"
    lines = [str(error).strip()]
    if isinstance(cause, OmegaConfBaseException) and cause is not error:
        lines.append(str(cause).splitlines()[0])
    return "\n".join(lines)

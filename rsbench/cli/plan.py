"""The jobs of a sweep: all combinations, but for controls that would change nothing."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig

from rsbench.cli.controls import NONE, OLD_METHODS, Controlled
from rsbench.cli.effects import check_annotation, essence, why_it_changes_nothing
from rsbench.cli.errors import unknown_setting
from rsbench.errors import UserError
from rsbench.plugins.registry import Registry

#: Composes the config of a job from its overrides.
Compose = Callable[[list[str]], DictConfig]


@dataclass(frozen=True)
class Job:
    """A job: what its command line would be, and the config that comes of it."""

    overrides: list[str]
    config: DictConfig


@dataclass(frozen=True)
class LeftOut:
    """A control that a sweep leaves out for a method, and why.

    `is_there` tells that the sweep has the method under that control all the same, as
    with a preprocessor that is tuned, whichever one the job names.
    """

    method: str
    control: str
    reason: str
    is_there: bool = False


def plan(
    loaded: Registry, overrides: list[Override], compose: Compose
) -> tuple[list[Job], list[LeftOut]]:
    """Split a sweep into its jobs, each composed once.

    Parameters
    ----------
    loaded : Registry
        All components.
    overrides : list of Override
        What the experiment and the command set; of the same key, the last one counts.
    compose : callable
        Composes a job's config.

    Returns
    -------
    jobs : list of Job
        In the order of the command, the last key changing fastest.
    left_out : list of LeftOut
        Controls that would change nothing, or repeat a job that is there already.

    Raises
    ------
    UserError
        If no job is left.
    """
    # The last word on a key counts, in the place of the first.
    choices: dict[str, list[str]] = {}
    for override in overrides:
        choices[override.get_key_element()] = _values(override)
    jobs: list[Job] = []
    # A dict for a set in order: the same control may be left out under many settings.
    left_out: dict[LeftOut, None] = {}
    controls = _Controls(loaded, compose)
    for values in itertools.product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        if "control" in chosen:
            found = controls.apply(chosen)
        else:
            found = Job(_words(chosen), compose(_words(chosen)))
        if isinstance(found, Job):
            jobs.append(found)
        else:
            left_out[found] = None
    if not jobs:
        raise UserError("; ".join(map(refusal, left_out)))
    return jobs, list(left_out)


class _Controls:
    """Apply controls to the methods of a sweep, and see which make a difference."""

    def __init__(self, loaded: Registry, compose: Compose):
        self._loaded = loaded
        self._compose = compose
        #: Configs without a control, by their words: each is composed once.
        self._without: dict[tuple[str, ...], DictConfig] = {}
        #: What the jobs planned so far compute, and under which control.
        self._computed: dict[str, Controlled] = {}

    def apply(self, chosen: dict[str, str]) -> Job | LeftOut:
        """Return the job with these values, or why it is left out."""
        words = _words(chosen)
        control = chosen["control"]
        uncontrolled = tuple(_words({**chosen, "control": NONE}))
        # Two jobs of the same words get a config each all the same: running changes it.
        if control == NONE or uncontrolled not in self._without:
            self._without[uncontrolled] = self._compose(list(uncontrolled))
        without = self._without[uncontrolled]
        asked = Controlled(chosen.get("method") or without.learner.name, control)
        if control == NONE:
            self._computed[essence(self._loaded, without)] = asked
            return Job(words, without)
        given = "annotation" in chosen
        found = under_control(self._loaded, without, asked, words, given, self._compose)
        if isinstance(found, LeftOut):
            return found
        computed = essence(self._loaded, found)
        if computed in self._computed:
            reason = "another job of the sweep is the same"
            is_itself = self._computed[computed] == asked
            return LeftOut(*asked, reason, is_itself)
        self._computed[computed] = asked
        return Job(words, found)


def under_control(
    loaded: Registry,
    without: DictConfig,
    asked: Controlled,
    words: list[str],
    annotation_given: bool,
    compose: Compose,
) -> DictConfig | LeftOut:
    """Return the config of a run under its control, or why that cannot change it.

    Parameters
    ----------
    loaded : Registry
        All components.
    without : DictConfig
        The run's config without the control.
    asked : Controlled
        What to call the method, and the control's name.
    words : list of str
        The run's overrides, the control among them.
    annotation_given : bool
        Whether one of them chooses an annotation.
    compose : callable
        Composes a run's config.
    """
    # `lean_tuned` is lean under the control tuned, by its old name.
    if asked.method in OLD_METHODS:
        return LeftOut(*asked, "it is under a control already")
    try:
        under = compose(words)
    except HydraException as error:
        # Without the control it could be composed: so this is a setting of the control.
        missing = unknown_setting(error)
        if missing is None:
            raise
        return LeftOut(*asked, f"it has no {missing.full_key}")
    check_annotation(asked.control, under, annotation_given)
    reason = why_it_changes_nothing(loaded, without, under)
    if reason is None:
        return under
    return LeftOut(*asked, reason)


def refusal(left_out: LeftOut) -> str:
    """Say that a control is of no use for a method."""
    return (
        f"control={left_out.control} cannot change {left_out.method}: {left_out.reason}"
    )


def note_left_out(left_out: list[LeftOut]) -> None:
    """Say once which controls a sweep leaves out."""
    methods: dict[str, list[str]] = {}
    for each in left_out:
        if each.is_there:
            continue
        methods.setdefault(each.control, []).append(each.method)
    parts = []
    for control, names in methods.items():
        parts.append(f"{control} ({', '.join(names)})")
    if parts:
        print(
            "controls that would change nothing, or repeat another job, are left out: "
            f"{'; '.join(parts)}"
        )


def _values(override: Override) -> list[str]:
    """Return the values that a job's override may have, as the grammar writes them."""
    if override.is_sweep_override():
        return list(override.sweep_string_iterator())
    return [override.get_value_element_as_str()]


def _words(chosen: dict[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in chosen.items()]

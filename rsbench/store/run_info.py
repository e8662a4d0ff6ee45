"""What a record says of its run: typed, versioned, and the only thing others read.

Tables, figures, sentences, resuming and MLflow are made of a `RunInfo` and the run's
curves. Nothing reads meaning out of `label`, which is for people alone.
"""

import dataclasses
import enum
import types
import typing
from dataclasses import dataclass, field
from typing import Any

from rsbench.core.data import Drawn
from rsbench.core.told import OfBackground, Told, Track
from rsbench.errors import UserError

#: The schema of run.json. 1: untyped records of the first releases, upgraded when read.
#: 2: before draws and counterparts; 3: before what is told of the background. Both have
#: defaults.
SCHEMA = 4

#: Methods of schema 1, and controls that followed their names: `lean_tuned`.
_OLD_METHODS = (
    "class_soft",
    "class_threshold",
    "cross_classes",
    "ellipsotron",
    "feature_scaling",
    "lean",
    "svm_ff",
)
_OLD_CONTROLS = ("tuned", "shuffled", "random", "ones", "soft", "seen", "exact")

#: What errors end with.
_DAMAGED = "damaged, or of another version"


@dataclass(frozen=True)
class DataInfo:
    """The data a run learned from, and how they came about.

    Parameters
    ----------
    name : str
        Name of the data set.
    identity : str
        Hash of the arrays' content.
    simulated : bool
        Whether they are a stand-in for the real ones.
    learn_on : str
        The classes learned: `few_shot`, the data set's own, or `validation`.
    how_to_get_real : str, optional
        A sentence that tells how to come by the real data.
    details : dict
        Facts that a reader of results should know, such as the detectors' quality.
    drawn : Drawn, optional
        Where classes are drawn from more of them: how many, and of how many. None where
        other draws would share no class, or there is nothing to draw.
    """

    name: str
    identity: str
    simulated: bool
    learn_on: str = "few_shot"
    how_to_get_real: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    drawn: Drawn | None = None

    @property
    def label(self) -> str:
        """The name as people read it, with the classes where they are not the usual."""
        if self.learn_on == "validation":
            return f"{self.name}, validation classes"
        return self.name


@dataclass(frozen=True)
class SplitSizes:
    """How many samples a seed has, and for what.

    Parameters
    ----------
    pool : int
        In the training pool, which class votes are counted over.
    test : int
        In the test set.
    learned : int
        Learned from, by the end of the stream; 0 if unknown, as in old records.
    fixed_test : bool
        Whether all seeds are tested on the same samples.
    """

    pool: int
    test: int
    learned: int = 0
    fixed_test: bool = False


class CounterpartKind(enum.StrEnum):
    """How a method's counterpart, which is told nothing, relates to it."""

    #: The method itself, run without annotations.
    ITSELF = "itself"
    #: Another one, which the method equals without annotations.
    EQUAL = "equal"
    #: Another one, since the method can do nothing without annotations.
    SUBSTITUTE = "substitute"


@dataclass(frozen=True)
class Counterpart:
    """What a method is compared with to see what annotations are worth.

    Parameters
    ----------
    kind : CounterpartKind
        How it relates to the method.
    name : str
        The method's own name, or the other's.
    fingerprint : str
        Hash of everything that can change its numbers: a run of a sweep that has the
        same one is the counterpart.
    """

    kind: CounterpartKind
    name: str
    fingerprint: str


@dataclass(frozen=True)
class PluginInfo:
    """A third-party plugin that was loaded, and what the run uses of it.

    Parameters
    ----------
    plugin : str
        Name of the package, or of the file.
    version : str, optional
        Version of the package.
    sha256 : str
        Hash of its sources as they were when it was imported.
    components : tuple of str
        Those the run uses, as `kind=name`.
    """

    plugin: str
    version: str | None = None
    sha256: str = ""
    components: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunInfo:
    """One run: a method on a data set under a protocol, over paired seeds.

    Parameters
    ----------
    id : str
        Unique for each record; MLflow knows the run by it.
    method : str
        Name of the method, without its control.
    told : Told
        What the method is told of its samples beyond their labels.
    preprocessor : str
        Name of the preprocessor.
    told_background : OfBackground
        What it is told of samples of other classes, before the stream.
    told_names : tuple of str
        Of which names it is told, such as `class names`.
    taught_at : str
        Of a batch learner: whether it is taught at every `step`, or only at those that
        the `table` reports.
    fitted_on_stream : bool
        Whether its statistics come from the stream so far, not from the background.
    label : str
        How people call the run. For display alone: nothing is read from it.
    control : str, optional
        Name of the control that the method runs under.
    control_of : str, optional
        The method that this run is a control of.
    changed : dict
        Settings that differ from the method's own in this experiment, by dotted key.
    swept : dict
        Its values of what its sweep goes over, beside method, control and preprocessor.
        A value may be the method's own, and so not among those that are changed.
    built_in : bool
        Whether all of its components are rsbench's own.
    experiment : str, optional
        The experiment that the run is part of.
    config : dict
        All settings, nested.
    overrides : tuple of str
        The words of the command that made it, to repeat it.
    tracking : dict, optional
        Where the run is tracked: `uri` and `experiment`.
    fingerprint : str
        Hash of everything that can change a seed's numbers.
    seeds : tuple of int
        Numbers of the seeds.
    draws : tuple of int
        Numbers of the draws of classes, each with all seeds.
    judged_step : int, optional
        Where on the curve methods are judged, set before the run; None in old records.
    table_steps : tuple of int
        The steps that tables report.
    margin : float
        Differences within it count as none, as a fraction; set before the run.
    counterpart : Counterpart, optional
        What it is compared with to see what annotations are worth. None where it is
        told nothing, and in old records.
    shuffled : str, optional
        Fingerprint of itself with shuffled annotations, where that was computed beside.
    changed_after : tuple of str
        Settings of how results are judged that were changed when they were there.
    score_scale : str
        On what scale the learner's scores are; empty for one of its own.
    versions : dict
        Versions of what computed it.
    git_commit : str, optional
        Commit of rsbench's checkout; a + says that it had been edited.
    data : DataInfo
        What it learned from.
    classes : int
        Number of classes.
    samples : SplitSizes, optional
        Sizes of the split; unknown in some old records.
    unit : str
        What a step counts.
    given : dict
        Of the samples learned from: the share that is annotated, and marks in each of
        those, means over seeds; empty in old records.
    tuned : dict
        By seed, or by draw and seed as `0/3`, the values that were chosen for
        hyperparameters.
    bound : dict
        The paper's bound and its scale-free ratio, means over seeds.
    seconds : float
        Time it took.
    plugins : tuple of PluginInfo
        Third-party plugins that were loaded.
    reused : tuple of int
        Seeds that had been computed before.
    replaces : tuple of str
        Ids of earlier records that it took the place of.
    digests : dict
        sha256 of the record's other files, by name.
    schema : int
        Version of this schema.
    """

    id: str
    method: str
    told: Told
    preprocessor: str
    label: str
    config: dict[str, Any]
    fingerprint: str
    seeds: tuple[int, ...]
    data: DataInfo
    classes: int
    unit: str
    told_background: OfBackground = OfBackground.NOTHING
    told_names: tuple[str, ...] = ()
    taught_at: str = "step"
    fitted_on_stream: bool = False
    control: str | None = None
    control_of: str | None = None
    changed: dict[str, Any] = field(default_factory=dict)
    swept: dict[str, Any] = field(default_factory=dict)
    built_in: bool = True
    experiment: str | None = None
    overrides: tuple[str, ...] = ()
    tracking: dict[str, str] | None = None
    draws: tuple[int, ...] = (0,)
    judged_step: int | None = None
    table_steps: tuple[int, ...] = ()
    margin: float = 0.01
    counterpart: Counterpart | None = None
    shuffled: str | None = None
    score_scale: str = ""
    changed_after: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    git_commit: str | None = None
    samples: SplitSizes | None = None
    given: dict[str, float] = field(default_factory=dict)
    tuned: dict[str, dict[str, Any]] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    plugins: tuple[PluginInfo, ...] = ()
    reused: tuple[int, ...] = ()
    replaces: tuple[str, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def track(self) -> Track:
        """All that the method is told; methods told the same share it."""
        return Track(self.told, self.told_background, self.told_names)

    @property
    def variant(self) -> str:
        """The method, with its control where it has one."""
        if self.control is None:
            return self.method
        return f"{self.method} ({self.control})"

    @property
    def features(self) -> str:
        """The preprocessor as tables name it."""
        if self.fitted_on_stream:
            return f"{self.preprocessor} (seen)"
        return self.preprocessor

    def to_json(self) -> dict[str, Any]:
        """Return the plain values that run.json holds."""
        return dataclasses.asdict(self)


def read_info(content: Any, where: str) -> RunInfo:
    """Return what a run.json says, whatever release wrote it.

    Parameters
    ----------
    content : object
        What the file holds, as JSON has it.
    where : str
        The file, for errors.

    Raises
    ------
    UserError
        If something is missing or of another type, or a later release wrote it.
    """
    if not isinstance(content, dict):
        raise UserError(f"{where}: not a record: expected an object with named values")
    schema = _read(int, content.get("schema", 1), where, "schema")
    if schema > SCHEMA:
        raise UserError(
            f"{where}: schema {schema}, which a later release wrote; "
            f"this one reads up to {SCHEMA}"
        )
    if schema < 1:
        raise UserError(f"{where}: schema {schema}, not as expected: {_DAMAGED}")
    if schema == 1:
        content = _upgrade(content, where)
    return _build(RunInfo, content, where)


def _upgrade(old: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a record of schema 1 as schema 2 would have it."""
    try:
        return _upgraded(old)
    except KeyError as error:
        raise UserError(f"{where}: {error} is missing: {_DAMAGED}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{where}: not as expected ({error}): {_DAMAGED}") from None


def _upgraded(old: dict[str, Any]) -> dict[str, Any]:
    """Return the upgraded record; a damaged one raises whatever error it comes to.

    Schema 1 kept meaning in display text. It is read out of that here and nowhere else.
    """
    new = {
        **old,
        "schema": SCHEMA,
        "told": _told_by_names(old["config"]),
        "changed": _changed_by_words(old.get("overrides") or ()),
        "data": dict(old["data"]),
        "built_in": True,
    }
    # By both lists: `class_soft` was a method, not the control soft of a method class.
    base, _, last = old["method"].rpartition("_")
    if base in _OLD_METHODS and last in _OLD_CONTROLS:
        new["method"] = base
        new["control"] = last
        new["control_of"] = base
    preprocessor = old["preprocessor"]
    new["preprocessor"] = preprocessor.removesuffix(" (seen)")
    new["fitted_on_stream"] = preprocessor.endswith(" (seen)")
    validation = ", validation classes"
    name = old["data"]["name"]
    if name.endswith(validation):
        new["data"]["name"] = name.removesuffix(validation)
        new["data"]["learn_on"] = "validation"
    for plugin in old.get("plugins", ()):
        if plugin.get("components"):
            new["built_in"] = False
    return new


def _told_by_names(config: dict[str, Any]) -> str:
    """Return what a method of schema 1 was told, as its built-in names decide it."""
    learner = config["learner"]["name"]
    aggregator = config["aggregator"]["name"]
    scope = config["aggregator"].get("scope")
    if learner in ("svm_ff", "svm_ff_batch"):
        return Told.VOTES
    if learner == "lean" or aggregator == "none":
        return Told.NOTHING
    by_class = aggregator in ("class_soft", "class_threshold", "cross_classes")
    if by_class and scope != "seen":
        return Told.CLASS_VOTES
    return Told.VOTES


def _changed_by_words(words: typing.Iterable[Any]) -> dict[str, str]:
    """Return the settings that schema 1 kept as the words of a command."""
    changed = {}
    for word in words:
        key, _, value = str(word).partition("=")
        if key.lstrip("+") not in ("experiment", "method", "preprocessor"):
            changed[key.lstrip("+")] = value
    return changed


def _build(cls: type, content: Any, where: str, at: str = "") -> Any:
    """Return a dataclass from plain values, or say which of them is wrong.

    `at` is the dotted key of the dataclass in the record, empty for the record itself.
    Keys that the dataclass does not have are left out.
    """
    if not isinstance(content, dict):
        raise UserError(f"{where}: {at or 'the record'} is not as expected: {_DAMAGED}")
    hints = typing.get_type_hints(cls)
    values = {}
    for each in dataclasses.fields(cls):
        name = each.name
        if at:
            name = f"{at}.{each.name}"
        if each.name in content:
            values[each.name] = _read(hints[each.name], content[each.name], where, name)
        elif _is_required(each):
            raise UserError(f"{where}: {name} is missing: {_DAMAGED}")
    return cls(**values)


def _is_required(each: dataclasses.Field) -> bool:
    no_default = each.default is dataclasses.MISSING
    return no_default and each.default_factory is dataclasses.MISSING


def _read(hint: Any, value: Any, where: str, name: str) -> Any:
    """Return a plain value as its type hint says, or raise an error that names it."""
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    wrong = UserError(f"{where}: {name} is {value!r:.80}, not as expected: {_DAMAGED}")
    if hint is Any:
        return value
    # Unions are of the form `X | None` throughout.
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _read(arguments[0], value, where, name)
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type, hint), value, where, name)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise wrong
        return tuple(_read(arguments[0], item, where, name) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise wrong
        key_type, item_type = arguments
        items = {}
        for text, item in value.items():
            try:
                key = key_type(text)  # JSON has keys as text, also those of seeds
            except ValueError:
                raise wrong from None
            items[key] = _read(item_type, item, where, f"{name}.{key}")
        return items
    if isinstance(hint, enum.EnumMeta):
        if value not in list(hint):
            raise wrong
        return hint(value)
    # To Python true is a whole number, 1; in a record it is a mistake.
    is_bool = isinstance(value, bool)
    if hint is float and isinstance(value, (int, float)) and not is_bool:
        return float(value)
    if not isinstance(value, hint) or (hint is int and is_bool):
        raise wrong
    return value

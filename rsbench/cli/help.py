"""What `--help` shows: examples, what there is to choose, and the run's settings.

With settings beside it (`learner=svm_ff --help`), the config that Hydra composes of
them follows. Hydra's own page takes five times as long, since it copies its store of
configs for every group that it lists; and to list what there is takes no Hydra at all.
"""

from pathlib import Path
from typing import Any

from rsbench.cli.presets import preset_folders
from rsbench.files.places import CONF
from rsbench.plugins import registry
from rsbench.plugins.registry import Registry

_EXAMPLES = """\
rsbench: online few-shot learning with rich supervision.

  python -m rsbench +experiment=cub
      the paper's table on CUB, and what labels alone do today
  python -m rsbench +experiment=cub method=lean,ellipsotron seeds=20
  python -m rsbench method=class_soft preprocessor=center learner.C=0.1
  python -m rsbench -m method=lean,ellipsotron learner.C=0.1,1,10
  python -m rsbench -m method=ellipsotron control=none,shuffled,tuned
  python -m rsbench dataset=arrays dataset.path=mine.npz

  python -m rsbench data get cub        the real data set; data status tells
  python -m rsbench new learner mine    a plugin to start from; check tries it
  python -m rsbench plugins             components, and where they come from
  python -m rsbench report DIR…         one page of finished runs
  python -m rsbench plan DIR            how many draws would find a gain
  python -m rsbench status DIR          done, failed, running, missing
  python -m rsbench track DIR           send finished runs to MLflow
"""

_MORE = """\
A component's parameters show with it:    python -m rsbench learner=svm_ff --help
The whole config:                         python -m rsbench --cfg job
Hydra's own options:                      python -m rsbench --hydra-help
"""


def show_help(base: Path, composed: Any = None) -> int:
    """Print the page.

    Parameters
    ----------
    base : Path
        The folder from which relative plugin folders are seen.
    composed : DictConfig, optional
        The config of the settings that were given beside `--help`.
    """
    print(_EXAMPLES)
    print("== Choices (GROUP=NAME; experiments with +experiment=NAME) ==")
    for group, names in sorted(_choices(registry.load(base)).items()):
        print(f"{group}: {', '.join(sorted(names))}")
    if composed is None:
        print("\n== Settings (KEY=VALUE) ==")
        print(_settings())
    else:
        from omegaconf import OmegaConf

        print("\n== Config (KEY=VALUE) ==")
        print(OmegaConf.to_yaml(composed))
    print(_MORE, end="")
    return 0


def _choices(loaded: Registry) -> dict[str, set[str]]:
    """Return the choices of each group: components, methods made of them, and files."""
    found: dict[str, set[str]] = {}
    for group, components in loaded.components.items():
        found[group] = set(components)
    found["method"] = set(loaded.components["learner"])
    # Files may name groups that no component is in, such as experiments.
    for folder in (CONF, *preset_folders(loaded)):
        for preset in folder.glob("*/*.yaml"):
            found.setdefault(preset.parent.name, set()).add(preset.stem)
    return found


def _settings() -> str:
    """Return the settings of a run itself, as the primary config explains them."""
    text = (CONF / "config.yaml").read_text(encoding="utf-8")
    # They stand between the defaults list and Hydra's own part.
    _, _, after_defaults = text.partition("\n\n")
    settings, _, _ = after_defaults.partition("\nhydra:\n")
    return settings.strip() + "\n"

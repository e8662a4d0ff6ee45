"""Errors of Hydra and OmegaConf, in words that help."""

from hydra.errors import MissingConfigException
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    OmegaConfBaseException,
)

from rsbench.errors import did_you_mean
from rsbench.plugins.registry import Registry

#: Launchers and sweepers, and the extra that each comes with.
_EXTRAS = {
    "joblib": "parallel",
    "submitit_local": "cluster",
    "submitit_slurm": "cluster",
    "optuna": "tune",
}


def explain(error: Exception, loaded: Registry) -> str:
    """Say what is wrong, with a suggestion where the mistake is a misspelt name.

    Parameters
    ----------
    error : Exception
        What Hydra or OmegaConf raised, or a mistake of the user's.
    loaded : Registry
        All components, whose names may have been meant.
    """
    if isinstance(error, MissingConfigException) and error.options:
        group, _, name = (error.missing_cfg_file or "").rpartition("/")
        if group in ("hydra/launcher", "hydra/sweeper") and name in _EXTRAS:
            extra = f"pip install 'rsbench[{_EXTRAS[name]}]'"
            return f"{group}={name} needs more packages: {extra}"
        return loaded.unknown(group, name, error.options)
    missing = unknown_setting(error)
    if missing is not None and missing.parent_node is not None:
        known = [str(key) for key in missing.parent_node if key != "hydra"]
        near = did_you_mean(str(missing.key), known)
        return f"unknown setting '{missing.full_key}'. {near}"
    # Hydra's message says where, that of OmegaConf below it what is wrong there.
    lines = [str(error).strip()]
    if isinstance(error.__cause__, OmegaConfBaseException):
        lines.append(str(error.__cause__).splitlines()[0])
    return "\n".join(lines)


def unknown_setting(error: BaseException) -> OmegaConfBaseException | None:
    """Return the error of a setting that is not there, if that is what went wrong."""
    # Hydra raises its own error from OmegaConf's, or while it is handling that.
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConfigKeyError, ConfigAttributeError)):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None

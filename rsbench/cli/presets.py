"""Where YAML configs are, beside rsbench's own: the presets that plugins ship."""

from pathlib import Path

from rsbench.plugins.registry import Registry


def preset_folders(loaded: Registry) -> list[Path]:
    """Return the `conf` folders of plugins, each once."""
    # A dict for a set in order: modules of one package share its folder.
    folders: dict[Path, None] = {}
    for plugin in loaded.plugins:
        if plugin.conf is not None:
            folders[plugin.conf] = None
    return list(folders)

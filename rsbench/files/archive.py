"""Where a data set can be downloaded from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Archive:
    """The archive that holds a data set.

    Parameters
    ----------
    folder : str
        The data set's folder in the archive, and below RSBENCH_DATA.
    url : str
        Address of the archive; empty if there is none.
    md5 : str
        Of the archive. Where none is known, the archive's own checksums, which
        unpacking verifies, are all there is.
    beside : tuple of str
        Other files of the archive, to lie beside the folder.
    """

    folder: str
    url: str = ""
    md5: str = ""
    beside: tuple[str, ...] = ()

"""What annotations are worth, as sentences and tables word it."""

import math

from rsbench.core.worth import Worth
from rsbench.report.claims import GAINS, MethodClaim


def k_text(worth: Worth) -> str:
    """Return a worth as people read it, "2.5 or more" where that is all one knows."""
    if math.isnan(worth.k):
        return "unknown"
    shown = f"{worth.k:.1f}"
    if worth.k_reached:
        return shown
    if worth.k >= worth.largest:
        return f"{shown} or more"
    return f"{shown} or less"


def interval_text(worth: Worth) -> str:
    """Return the interval of a worth; an end that is not reached is a bound."""
    return f"[{_bounds(worth, worth.low, worth.high)}]"


def saved_text(worth: Worth) -> str:
    """Return how many labels per class are saved, with the interval."""
    more = ""
    if not worth.k_reached:
        more = "less than "
        if worth.k >= worth.largest:
            more = "more than "
    low = (worth.low - 1) * worth.n
    high = (worth.high - 1) * worth.n
    # Plus zero, so that nothing is shown as "-0".
    saved = round(worth.labels_saved, 1) + 0
    return f"{more}{saved:.1f} [{_bounds(worth, low, high)}]"


def price_text(claim: MethodClaim, worth: Worth) -> str:
    """Return when an annotation pays, where annotations clearly gain something."""
    if worth.low == worth.high == 1:
        return ": nothing"
    if worth.contains(1):
        return ", which leaves open whether any annotation pays"
    # Below a worth of one, annotated samples do less than labelled ones.
    if worth.k < 1:
        return ": even free annotations would cost labels"
    if claim.verdict not in GAINS:
        return ""
    # Of those that are annotated, each has to bring in what the others do not.
    low = (worth.low - 1) / claim.annotated
    high = (worth.high - 1) / claim.annotated
    more = ""
    if not worth.k_reached:
        more = "at least "
    return (
        f": an annotation pays if it costs less than {more}{claim.price(worth):.1f} of "
        f"the price of a label [{_bounds(worth, low, high)}]"
    )


def _bounds(worth: Worth, low: float, high: float) -> str:
    """Return an interval in which only ends that were reached are ends."""
    # Plus zero, so that nothing is shown as "-0".
    low_text = f"{round(low, 1) + 0:.1f}"
    high_text = f"{round(high, 1) + 0:.1f}"
    if not worth.low_reached and worth.low >= worth.largest:
        return f"more than {low_text}"
    if not worth.high_reached and worth.high < worth.largest:
        return f"less than {high_text}"
    if not worth.low_reached:
        low_text = f"under {low_text}"
    if not worth.high_reached:
        high_text = f"over {high_text}"
    return f"{low_text} to {high_text}"

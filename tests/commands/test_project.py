"""The project as a whole: what its pages promise, and what its configs hold."""

import re

from tests.helpers import ROOT


def test_links_in_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_configs_name_no_code():
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert "_target_" not in path.read_text(), path


def test_experiments_leave_learner_and_aggregator_to_methods():
    for path in (ROOT / "conf" / "experiment").glob("*.yaml"):
        assert not re.search(
            r"override /(learner|aggregator)|^(learner|aggregator):",
            path.read_text(),
            re.MULTILINE,
        ), path

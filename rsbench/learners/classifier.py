"""What scikit-learn asks of a classifier: its tags, and metadata routing.

Within `Pipeline`, `cross_val_score` or `GridSearchCV` an estimator gets the metadata
that it has requested, as `Ellipsotron().set_fit_request(relevance=True)` does.
scikit-learn's own classes inherit all this from `BaseEstimator`, whose import takes
over a second; so here it is again, importing scikit-learn only when somebody asks.
"""

import inspect
from typing import Any, Self

#: Methods that can take more than features and labels; predictions never do.
_CONSUMERS = ("fit", "partial_fit", "score")


class Classifier:
    """Be a classifier to scikit-learn, whose methods can request metadata.

    Metadata is what methods take beside features and labels, by the names of their
    own parameters. A request is True (give it), False (never give it), None (raise an
    error if it is there) or another name to take it from. It belongs to the estimator,
    and `sklearn.base.clone` keeps it.
    """

    # What a learner says of the features that it takes; see `components.Learner`.
    takes_sparse: bool
    takes_negative: bool

    # scikit-learn's name: its `clone` looks for it. There is none until one is set.
    _metadata_request: Any

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(
                sparse=bool(self.takes_sparse),
                positive_only=not self.takes_negative,
            ),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "classes_" in vars(self)

    def get_metadata_routing(self) -> Any:
        """Return what each method can take, and whether it is requested.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            A copy, which can be changed without changing the estimator's requests.
        """
        from sklearn.utils.metadata_routing import (
            MetadataRequest,
            get_routing_for_object,
        )

        if "_metadata_request" in vars(self):
            return get_routing_for_object(self._metadata_request)
        # By name: some versions copy the owner, with all its weights, in each clone.
        routing = MetadataRequest(owner=type(self).__name__)
        for method in _CONSUMERS:
            of_method = getattr(routing, method)
            for name in self._metadata_of(method):
                of_method.add_request(param=name, alias=None)
        return routing

    def set_fit_request(self, **requests: bool | str | None) -> Self:
        """Request what `fit` is given by scikit-learn's pipelines and searches.

        Parameters
        ----------
        **requests : bool, str or None
            One for each name, for instance `relevance=True`.

        Returns
        -------
        object
            The learner itself.
        """
        return self._request("fit", requests)

    def set_partial_fit_request(self, **requests: bool | str | None) -> Self:
        """Request what `partial_fit` is given, as `set_fit_request` does for `fit`."""
        return self._request("partial_fit", requests)

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Request what `score` is given, as `set_fit_request` does for `fit`."""
        return self._request("score", requests)

    def _request(self, method: str, requests: dict[str, bool | str | None]) -> Self:
        """Keep what a method requests, for scikit-learn to ask for."""
        import sklearn
        from sklearn.utils.metadata_routing import UNCHANGED

        if not sklearn.get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "This method is only available when metadata routing is enabled. "
                "You can enable it using "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        accepted = self._metadata_of(method)
        routing = self.get_metadata_routing()
        of_method = getattr(routing, method)
        for name, request in requests.items():
            if name not in accepted:
                raise TypeError(
                    f"{type(self).__name__}.{method} takes no {name!r}. "
                    f"It can request: {', '.join(accepted) or 'nothing'}."
                )
            if request != UNCHANGED:
                of_method.add_request(param=name, alias=request)
        self._metadata_request = routing
        return self

    def _metadata_of(self, method: str) -> list[str]:
        """Return what a method takes beside features and labels, by its signature."""
        open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        parameters = inspect.signature(getattr(self, method)).parameters
        found = []
        for name, parameter in parameters.items():
            if name not in ("X", "y") and parameter.kind not in open_ended:
                found.append(name)
        return found

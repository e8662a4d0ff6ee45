"""The paper's features: scores of attribute detectors on a frozen network."""

from dataclasses import dataclass

from rsbench.core.data import Data
from rsbench.extractors.backbones import Device, Precision, find_backbone
from rsbench.extractors.detectors import Recipe
from rsbench.extractors.images import NetworkExtractor
from rsbench.extractors.scoring import detect


@dataclass
class ResNet50Attributes(Recipe, NetworkExtractor):
    """Attribute detectors on a frozen, pretrained network, trained on other classes.

    As in the paper, the network is a ResNet-50, unless another is named. Its features
    are computed once for each image and kept below RSBENCH_CACHE (by default
    outputs/cache).

    Parameters
    ----------
    learning_rates : tuple of float
        Candidates, of which the loss on validation classes chooses one.
    weight_decays : tuple of float
        Candidates, likewise.
    epochs : int
        At most so many; validation finds the best number.
    patience : int
        Epochs without a better validation loss after which to stop.
    head_batch : int
        Images in a step of training the detectors.
    head_seed : int
        Decides the detectors' first weights and the order of images.
    unseen_validation : bool
        Whether to keep the validation classes from the detectors, so that
        hyperparameters can be tuned on them; a quarter of the training classes then
        validates the detectors.
    backbone : str
        `efficientnet_lite0`, whose weights come with the extra `vision`; or a vision
        model of `transformers` (ResNet, ViT, DINOv2, …): its folder, or its name on the
        Hugging Face hub. Safetensors only.
    device : {"cpu", "cuda", "mps"}
        Where the network runs.
    precision : {"float32", "bfloat16"}
        Of the network's numbers.
    batch_size : int or None
        Images in a batch; by default 2 on a CPU, else 64.
    workers : int or None
        Threads that decode and compute; by default one per core.
    """

    backbone: str = "microsoft/resnet-50"
    device: Device = "cpu"
    precision: Precision = "float32"
    batch_size: int | None = None
    workers: int | None = None

    def extract(self, data: Data) -> Data:
        """Return the data with attributes' scores as features.

        Scores of the classes that the detectors were trained on are the background.
        """
        backbone = find_backbone(self.backbone, self.device, self.precision)
        features, bad = self.run_network(data, backbone)
        return detect(data, features, bad, self, {"backbone": self.backbone})

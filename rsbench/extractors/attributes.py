"""The paper's features: scores of attribute detectors on a frozen network."""

from dataclasses import dataclass

from rsbench.core.data import Data
from rsbench.extractors.backbones import Device, Precision, find_backbone
from rsbench.extractors.detectors import Recipe
from rsbench.extractors.images import batch_images, check_counts, image_features
from rsbench.extractors.scoring import detect


@dataclass(frozen=True)
class ResNet50Attributes(Recipe):
    """Attribute detectors on a frozen, pretrained network, trained on other classes, as in the paper.

    The network is the paper's ResNet-50 unless another is named. Its features are computed once for each
    image and kept below RSBENCH_CACHE (by default outputs/cache).

    Parameters
    ----------
    backbone : `efficientnet_lite0` (weights come with the extra `vision`); or a vision model of `transformers`
        (ResNet, ViT, DINOv2, …): its folder or its name on the Hugging Face hub. Safetensors only.
    device : `cpu`, `cuda` or `mps`.
    precision : `float32` or `bfloat16`, of the network.
    batch_size : images in a batch; by default 2 on a CPU, else 64.
    workers : threads that decode and compute; by default one per core.
    learning_rates, weight_decays : the grid, tuned on the validation classes.
    epochs : at most so many; validation finds the best number.
    patience : epochs without a better validation loss after which to stop.
    head_batch : images in a step of training the detectors.
    head_seed : of the detectors' first weights and the order of images.
    """

    backbone: str = "microsoft/resnet-50"
    device: Device = "cpu"
    precision: Precision = "float32"
    batch_size: int | None = None
    workers: int | None = None

    def check_params(self) -> None:
        """Refuse what could only fail later."""
        super().check_params()
        check_counts(self)

    def extract(self, data: Data) -> Data:
        """Scores of the attributes as features; those of the detectors' training classes as background."""
        backbone = find_backbone(self.backbone, self.device, self.precision)
        batch_size = batch_images(self.batch_size, self.device)
        features, bad = image_features(
            data.all_images, backbone, batch_size, self.workers
        )
        return detect(data, features, bad, self, {"backbone": self.backbone})

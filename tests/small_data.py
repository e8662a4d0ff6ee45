"""Small data sets in their official layouts, and small networks to see them with."""

import json

import numpy as np

#: Names of the attributes in the small CUB.
ATTRIBUTES = (
    "has_bill_shape::hooked",
    "has_bill_shape::dagger",
    "has_wing_color::blue",
    "has_wing_color::red",
    "plain",
)


def write_cub(root, classes=6, images=6, inside=False):
    """Write a CUB of images of noise around a colour per species, and five attributes.

    One image is grey, and one row has a column too many, as the real ones have.
    """
    from PIL import Image

    rng = np.random.default_rng(0)
    (root / "attributes").mkdir(parents=True)
    names = []
    labels = []
    rows = []
    for c in range(classes):
        species = f"{c + 1:03}.Bird_{c}"
        (root / "images" / species).mkdir(parents=True)
        colour = rng.integers(0, 200, 3)
        marked = rng.random(len(ATTRIBUTES))
        for i in range(images):
            names.append(f"{species}/Bird_{c}_{i}.jpg")
            labels.append(c + 1)
            noise = rng.integers(0, 56, (40 + c, 50, 3))
            image = Image.fromarray((colour + noise).astype(np.uint8))
            if (c, i) == (0, 0):
                image = image.convert("L")
            image.save(root / "images" / names[-1])
            for a, share in enumerate(marked):
                present = int(rng.random() < share)
                certainty = int(rng.integers(2, 5))
                if not present and rng.random() < 0.2:
                    certainty = 1
                extra = "0 " if (len(names), a) == (2, 3) else ""
                seconds = f"{extra}{rng.random():.3f}"
                rows.append(f"{len(names)} {a + 1} {present} {certainty} {seconds}")
    species = [f"{c + 1:03}.Bird_{c}" for c in range(classes)]
    certainties = ["not visible", "guessing", "probably", "definitely"]
    write_numbered(root / "images.txt", names)
    write_numbered(root / "image_class_labels.txt", labels)
    write_numbered(root / "classes.txt", species)
    write_numbered(root / "attributes" / "certainties.txt", certainties)
    write_numbered((root if inside else root.parent) / "attributes.txt", ATTRIBUTES)
    votes = "\n".join(rows) + "\n"
    (root / "attributes" / "image_attribute_labels.txt").write_text(votes)
    return root


def write_numbered(path, lines):
    """Write a table as CUB's are: a number and a name in each line."""
    path.write_text("".join(f"{i + 1} {line}\n" for i, line in enumerate(lines)))


def xml(*names, deleted=()):
    """Return an annotation of SUN's with objects of these names."""
    objects = "".join(
        f"<object><name>{name}</name><deleted>{int(i in deleted)}</deleted><polygon><pt><x>1</x></pt></polygon></object>"
        for i, name in enumerate(names)
    )
    return f"<annotation><filename>x.jpg</filename>{objects}</annotation>".encode()


BOMB = (
    b'<!DOCTYPE a [<!ENTITY a "ha">' + b"".join(b'<!ENTITY a%d "&a%d;&a%d;">' % (i, i - 1, i - 1) for i in range(1, 40))
    + b"]><annotation><object><name>&a39;</name></object></annotation>"
)  # fmt: skip
EXTERNAL = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation><object><name>&x;</name></object></annotation>'

#: Annotations that cannot be used, each with the cause that is told.
UNUSABLE = {
    "bomb": (BOMB, "declares entities"),
    "external": (EXTERNAL, "declares entities"),
    "bomb in UTF-16": (BOMB.decode().encode("utf-16"), "encoding"),
    "invalid UTF-8": (
        b"<annotation><object><name>caf\xe9</name></object></annotation>",
        "encoding",
    ),
    "cut off": (xml("car")[:-5], "malformed XML"),
    "empty": (b"", "malformed XML"),
    "no XML": (b"hello", "malformed XML"),
    "unknown encoding": (
        b'<?xml version="1.0" encoding="klingon"?><annotation/>',
        "encoding",
    ),
    "invalid UTF-8, declared": (
        b'<?xml version="1.0" encoding="utf-8"?><annotation>caf\xe9</annotation>',
        "encoding",
    ),
}


def write_sun(root, images=True):
    """Write a SUN of three large scenes, two small ones, and all that can be wrong.

    Its vocabulary is beside it.
    """
    from PIL import Image

    rng = np.random.default_rng(0)
    things = {
        "abbey": ["tower", "tree"],
        "bar/indoor": ["TV table_occluded", "glass"],
        "cafe": ["table", "window"],
    }
    sizes = {"abbey": 12, "bar/indoor": 10, "cafe": 11, "dam": 3, "bar/outdoor": 2}
    for scene, size in sizes.items():
        folder = root / "Annotations" / scene[0] / scene
        folder.mkdir(parents=True)
        for i in range(size):
            tags = [tag for tag in things.get(scene, ["sky"]) if rng.random() < 0.8]
            # A name that several scenes have.
            word = "same" if i == 0 else scene.replace("/", "_")
            name = f"sun_{word}_{i}"
            (folder / f"{name}.xml").write_bytes(xml(*tags, "thing_crop"))
            if images:
                place = root / "Images" / scene[0] / scene
                place.mkdir(parents=True, exist_ok=True)
                pixels = rng.integers(0, 255, (30, 40, 3), np.uint8)
                Image.fromarray(pixels).save(place / f"{name}.jpg")
    abbey = root / "Annotations" / "a" / "abbey"
    for i, (content, _) in enumerate(UNUSABLE.values()):
        (abbey / f"bad_{i}.xml").write_bytes(content)
    (abbey / "readme.txt").write_text("no annotation")
    for scene in ("misc", "outliers"):
        (root / "Annotations" / scene).mkdir()
        (root / "Annotations" / scene / "x.xml").write_bytes(xml("car"))
    terms = "tower, NN, 9\ntree\ntable\ntables\nglass\nwindow\nunused\n"
    (root.parent / "vocabulary.txt").write_text(terms)
    return root


def write_resnet(folder):
    """Write a ResNet of the paper's kind, tiny and of random weights."""
    import torch
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(0)
    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="bottleneck"
    )
    return save_network(ResNetModel(config), folder)


def save_network(model, folder):
    """Save a network as the Hugging Face hub keeps it, with how to prepare images."""
    model.save_pretrained(folder)
    processor = {
        "image_processor_type": "ConvNextImageProcessor",
        "size": {"shortest_edge": 32},
        "crop_pct": 0.875,
        "do_resize": True,
        "do_normalize": True,
        "image_mean": [0.5] * 3,
        "image_std": [0.25] * 3,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


def write_concepts(path):
    """Write a network of visual concepts, VGG-16 of few channels, for seven terms."""
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    tensors = {}
    width = 3
    for block, count in enumerate((2, 2, 3, 3, 3), 1):
        for i in range(1, count + 1):
            weight = torch.randn(4, width, 3, 3) / (3 * width**0.5)
            tensors[f"conv{block}_{i}.weight"] = weight
            tensors[f"conv{block}_{i}.bias"] = torch.randn(4) / 10
            width = 4
    tensors |= {"fc6.weight": torch.randn(6, 4 * 49) / 14, "fc6.bias": torch.zeros(6)}
    tensors |= {"fc7.weight": torch.randn(6, 6) / 2, "fc7.bias": torch.zeros(6)}
    tensors |= {"fc8.weight": torch.randn(7, 6, 1, 1), "fc8.bias": torch.zeros(7) - 2}
    save_file(tensors, path)
    return path

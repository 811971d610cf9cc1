// CIFAR-100: small photographs in 100 classes (Krizhevsky 2009), binary version. A record has a
// coarse label, which is not used, and a fine one.
#include "trainer/data/datasets/cifar_dataset.hpp"

namespace dllaunch {
namespace {

Result<std::unique_ptr<Dataset>> open_cifar100(const DatasetOptions& options) {
  static const CifarFamily family{
      .name = "cifar100",
      .folder = "cifar-100-binary",
      .label_bytes = 2,
      .label_at = 1,
      .train_files = "train.bin",
      .validation_file = "test.bin",
      .class_names = {
          "apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
          "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
          "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
          "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
          "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
          "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
          "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
          "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
          "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
          "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
          "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
          "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
          "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
          "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
          "table",       "tank",          "telephone", "television", "tiger",        "tractor",
          "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
          "willow_tree", "wolf",          "woman",     "worm"}};
  return open_cifar_dataset(family, options);
}

}  // namespace

extern const DatasetEntry cifar100_dataset;
const DatasetEntry cifar100_dataset{
    "cifar100", "photographs in 100 classes, 32x32 RGB, `train.bin` and `test.bin` in `path`", true,
    open_cifar100};

}  // namespace dllaunch

// Fashion-MNIST: pictures of clothes in MNIST's format (Xiao, Rasul, Vollgraf 2017).
#include "trainer/data/datasets/idx_dataset.hpp"

namespace dllaunch {
namespace {

Result<std::unique_ptr<Dataset>> open_fashion_mnist(const DatasetOptions& options) {
  static const IdxFamily family{
      .default_path = "/usr/share/datasets/fashion-mnist",
      .hint =
          "install it (apt-get install dataset-fashion-mnist), or name its folder in "
          "train.dataset.path",
      .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                      "Sneaker", "Bag", "Ankle boot"}};
  return open_idx_dataset(family, options);
}

}  // namespace

extern const DatasetEntry fashion_mnist_dataset;
const DatasetEntry fashion_mnist_dataset{
    "fashion-mnist", "clothes, 28x28 grey, from the Debian package dataset-fashion-mnist or `path`",
    true, open_fashion_mnist};

}  // namespace dllaunch

// MNIST: handwritten digits (LeCun et al. 1998).
#include "trainer/data/datasets/idx_dataset.hpp"

namespace dllaunch {
namespace {

Result<std::unique_ptr<Dataset>> open_mnist(const DatasetOptions& options) {
  static const IdxFamily family{
      .default_path = "/usr/share/datasets/mnist",
      .hint = "fetch it with `dllaunch data get mnist`, then name its folder in train.dataset.path",
      .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}};
  return open_idx_dataset(family, options);
}

}  // namespace

extern const DatasetEntry mnist_dataset;
const DatasetEntry mnist_dataset{"mnist", "handwritten digits, 28x28 grey, IDX files in `path`",
                                 true, open_mnist};

}  // namespace dllaunch

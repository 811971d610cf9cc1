// CIFAR-10: small photographs in 10 classes (Krizhevsky 2009), binary version.
#include "trainer/data/datasets/cifar_dataset.hpp"

namespace dllaunch {
namespace {

Result<std::unique_ptr<Dataset>> open_cifar10(const DatasetOptions& options) {
  static const CifarFamily family{.name = "cifar10",
                                  .folder = "cifar-10-batches-bin",
                                  .label_bytes = 1,
                                  .label_at = 0,
                                  .train_files = "data_batch_*.bin",
                                  .validation_file = "test_batch.bin",
                                  .class_names = {"airplane", "automobile", "bird", "cat", "deer",
                                                  "dog", "frog", "horse", "ship", "truck"}};
  return open_cifar_dataset(family, options);
}

}  // namespace

extern const DatasetEntry cifar10_dataset;
const DatasetEntry cifar10_dataset{
    "cifar10",
    "photographs in 10 classes, 32x32 RGB, `data_batch_*.bin` and `test_batch.bin` in `path`", true,
    open_cifar10};

}  // namespace dllaunch

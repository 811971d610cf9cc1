// Turns a data set into batches: sampling, loading and preparing images, ahead of the training.
// Knows nothing about models or losses, nor how a data set stores its images.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/data/image_preparation.hpp"
#include "trainer/data/sampler.hpp"

namespace dllaunch {

/// What an executable accepts as images. If absent, or if `memory` returns nullptr, batches hold
/// prepared images in ordinary memory.
struct ImageDestination {
  std::function<std::shared_ptr<std::byte>(std::size_t bytes)> memory = {};
  std::function<bool(const ImageRecipe&)> takes_bytes = {};
};
/// Returns an empty destination for nullptr. The executable must outlive it.
ImageDestination destination_of(Executable* executable);

/// Returns whether images are passed through as bytes because the backend prepares them.
bool only_reads(const Dataset& dataset, const ImagePreparation& preparation,
                const ImageDestination& destination);

/// The default number of workers: threads that compute on CPUs need the CPUs; beside a GPU they are
/// free, but for the training thread's. More than 16 take much memory for batches. `cpus`: that the
/// rank may use; 0: unknown.
constexpr int usual_workers(bool gpu_computes, int cpus) {
  constexpr int least = 2;
  constexpr int most = 16;
  return gpu_computes ? std::clamp(cpus - 1, least, most) : least;
}

struct LoaderOptions {
  Split split = Split::train;
  int workers = 2;        // at most; 0: next() does the work
  int batch_size = 1;     // capacity of a batch, images
  bool skip_bad = false;  // continue without bad images
  PreparationOptions preparation = {};
  ImageDestination destination = {};
  // Bytes of the host's memory that batches may take.
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();
};

/// Returns how many batches a loader keeps: ready_batches(), whose error it has.
Result<std::size_t> batches_in_memory(const Dataset& dataset, const ImagePreparation& preparation,
                                      const LoaderOptions& options);

/// Reads and prepares slices of an order and returns them in that order, whatever the number of
/// workers. At most two batches per worker are ready at any time, fewer if `memory` is short, and
/// one if not even that fits: check batches_in_memory() first. May be destroyed at any time.
/// Images are passed through as bytes if the backend prepares them, ids of tokens as floats.
///
/// With skip_bad, a bad training image (bad_request) is replaced by the next good one of the data
/// set, which keeps batches full; a bad validation image is left out. Both depend only on the data,
/// not on the rank.
class Loader {
 public:
  /// Position p of a slice is image order[p]; if `order` is empty, image p. `dataset` must outlive
  /// the loader.
  Loader(const Dataset& dataset, const Normalization& normalization,
         std::vector<std::int64_t> order, std::vector<Slice> slices, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Returns the images of the next slice, valid until the next call. Call at most once per slice.
  /// Errors are the data set's, reported with the slice they belong to.
  Result<Batch> next();

  /// True if the last Error of next() was a failed memory allocation.
  bool out_of_memory() const { return out_of_memory_; }

  /// Returns one Error for each image skipped in batches returned since the previous call.
  std::vector<Error> take_skipped() { return std::exchange(skipped_, {}); }

 private:
  struct Prepared {
    std::shared_ptr<std::byte> memory;
    std::span<float> images;           // prepared, or:
    std::span<std::uint8_t> pixels;    // [batch_size, channels, height, width] as stored
    std::span<ImageCut> cuts;          // [batch_size]
    ByteImages bytes;                  // view of `pixels` and `cuts` without absent images
    std::vector<std::int32_t> labels;  // [batch_size], or [batch_size, tokens]
    std::vector<float> targets;        // [batch_size, classes]; empty if labels suffice
    int count = 0;
    bool ready = false;
    std::optional<Error> error;
    bool out_of_memory = false;  // why `error` is set
    std::vector<Error> skipped;
  };

  /// The destination of one image, prepared or as bytes, of its labels and of its targets.
  struct Row {
    std::span<float> image;
    std::span<std::uint8_t> pixels;
    ImageCut* cut = nullptr;
    std::span<std::int32_t> labels;
    std::span<float> targets;
  };

  void reserve(Prepared& prepared) const;
  Row row(Prepared& prepared, int at) const;
  void work();
  void prepare(const Slice& slice, ImagePreparation::Scratch& scratch, Prepared& into) const;
  Result<Ok> read_image(std::int64_t index, ImagePreparation::Scratch& scratch, const Row& row,
                        std::vector<Error>& skipped) const;
  Result<Ok> prepare_image(std::int64_t index, ImagePreparation::Scratch& scratch,
                           const Row& row) const;
  void tell_bytes(Prepared& prepared) const;
  Result<Batch> hand_out(Prepared& prepared, const Prepared* ahead);

  const Dataset& dataset_;
  ImagePreparation preparation_;
  bool only_reads_;      // images are passed through as bytes
  std::size_t labels_;   // per image
  std::size_t targets_;  // numbers per image besides the label
  std::int64_t images_;  // in the split
  std::vector<std::int64_t> order_;
  std::vector<Slice> slices_;
  LoaderOptions options_;

  // Slice i is prepared in ring_[i % size] after slice i - size was released.
  std::vector<Prepared> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t claimed_ = 0;   // slices taken by workers
  std::size_t consumed_ = 0;  // slices returned by next()
  bool stopping_ = false;
  bool out_of_memory_ = false;
  std::vector<Error> skipped_;
  ImagePreparation::Scratch scratch_;  // for next() without workers
  std::vector<std::thread> threads_;
};

}  // namespace dllaunch

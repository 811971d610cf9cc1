// Batches, prepared ahead of the training thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
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

/// What an executable says of the images that it wants; absent, or nullptr from `memory`: prepared
/// ones, in any memory.
struct ImageDestination {
  std::function<std::shared_ptr<std::byte>(std::size_t bytes)> memory = {};
  std::function<bool(const ImageRecipe&)> takes_bytes = {};
};
/// nullptr: of none. The executable must outlive it.
ImageDestination destination_of(Executable* executable);

/// Are images only read, and handed out as bytes, since whoever gets them prepares them?
bool only_reads(const Dataset& dataset, const ImagePreparation& preparation,
                const ImageDestination& destination);

struct LoaderOptions {
  Split split = Split::train;
  int workers = 2;        // at most; 0: next() does the work itself
  int batch_size = 1;     // images a batch has room for
  bool skip_bad = false;  // goes on without bad images
  PreparationOptions preparation = {};
  ImageDestination destination = {};
};

/// Reads and prepares slices of an order, and hands them out in that order whatever the number
/// of workers. At most two batches a worker wait at any time. Destroying it at any moment is fine.
/// Images that are bytes are only read where who takes them prepares them.
///
/// A bad training image (bad_request) that is skipped is replaced by the next good one of the data
/// set, so that batches stay whole; a bad validation image is left out. Both follow from the data
/// alone, on whatever rank.
class Loader {
 public:
  /// Position p of a slice is image order[p]; with an empty order it is image p.
  /// `dataset` must outlive the loader.
  Loader(const Dataset& dataset, const Normalization& normalization,
         std::vector<std::int64_t> order, std::vector<Slice> slices, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next slice's images; valid until the following call. Call at most once per slice.
  /// Any Error is the data set's, and comes at its slice's turn.
  Result<Batch> next();

  /// Was the latest call's Error memory that the system refused?
  bool out_of_memory() const { return out_of_memory_; }

  /// Why images of the batches handed out since the latest call were skipped, one Error each.
  std::vector<Error> take_skipped() { return std::exchange(skipped_, {}); }

 private:
  struct Prepared {
    std::shared_ptr<std::byte> memory;
    std::span<float> images;         // or:
    std::span<std::uint8_t> pixels;  // [batch_size, channels, height, width] as read
    std::span<ImageCut> cuts;        // [batch_size]
    ByteImages bytes;                // of those, the present ones
    std::vector<std::int32_t> labels;
    std::vector<float> targets;  // [batch_size, row]; empty where labels say all
    int count = 0;
    bool ready = false;
    std::optional<Error> error;
    bool out_of_memory = false;  // is what the error says
    std::vector<Error> skipped;
  };

  /// Where an image goes, prepared or as it is, and what is known of it.
  struct Row {
    std::span<float> image;
    std::span<std::uint8_t> pixels;
    ImageCut* cut = nullptr;
    std::span<float> targets;
  };

  void reserve(Prepared& prepared) const;
  Row row(Prepared& prepared, int at) const;
  void work();
  void prepare(const Slice& slice, ImagePreparation::Scratch& scratch, Prepared& into) const;
  Result<std::int32_t> read_image(std::int64_t index, ImagePreparation::Scratch& scratch,
                                  const Row& row, std::vector<Error>& skipped) const;
  Result<std::int32_t> prepare_image(std::int64_t index, ImagePreparation::Scratch& scratch,
                                     const Row& row) const;
  void tell_bytes(Prepared& prepared) const;
  Result<Batch> hand_out(Prepared& prepared, const Prepared* ahead);

  const Dataset& dataset_;
  ImagePreparation preparation_;
  bool only_reads_;      // images are handed out as bytes
  std::size_t targets_;  // numbers of an image beside its label
  std::int64_t images_;  // of the split
  std::vector<std::int64_t> order_;
  std::vector<Slice> slices_;
  LoaderOptions options_;

  // Slice i is prepared in ring_[i % size], once slice i - size has been given back.
  std::vector<Prepared> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t claimed_ = 0;   // slices taken by workers
  std::size_t consumed_ = 0;  // slices handed out by next()
  bool stopping_ = false;
  bool out_of_memory_ = false;
  std::vector<Error> skipped_;
  ImagePreparation::Scratch scratch_;  // of next() when it does the work itself
  std::vector<std::thread> threads_;
};

}  // namespace dllaunch

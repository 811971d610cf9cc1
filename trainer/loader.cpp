#include "trainer/loader.hpp"

#include <cassert>
#include <exception>
#include <utility>

namespace dllaunch {
namespace {

std::vector<float> level_table(const Normalization& normalization) {
  std::vector<float> levels;
  for (std::size_t c = 0; c < normalization.mean.size(); ++c) {
    for (int value = 0; value < 256; ++value) {
      levels.push_back(
          static_cast<float>((value / 255.0 - normalization.mean[c]) / normalization.std[c]));
    }
  }
  return levels;
}

}  // namespace

Loader::Loader(const Dataset& dataset, const Normalization& normalization,
               std::vector<std::int64_t> order, std::vector<Slice> slices, LoaderOptions options)
    : dataset_(dataset),
      levels_(level_table(normalization)),
      order_(std::move(order)),
      slices_(std::move(slices)),
      options_(options) {
  const auto workers = static_cast<std::size_t>(options.workers);
  ring_.resize(workers == 0 ? 1 : 2 * workers);
  for (auto& prepared : ring_) {
    prepared.images.resize(static_cast<std::size_t>(options.batch_size) * dataset.pixels());
    prepared.labels.resize(static_cast<std::size_t>(options.batch_size));
  }
  for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Loader::work() {
  std::vector<std::uint8_t> pixels(dataset_.pixels());
  std::unique_lock lock(mutex_);
  while (true) {
    // next() still reads the batch it handed out last, hence consumed_ - 1 given back.
    changed_.wait(lock, [this] {
      const std::size_t given_back = consumed_ == 0 ? 0 : consumed_ - 1;
      return stopping_ || claimed_ == slices_.size() || claimed_ < given_back + ring_.size();
    });
    if (stopping_ || claimed_ == slices_.size()) return;
    const std::size_t mine = claimed_++;
    Prepared& prepared = ring_[mine % ring_.size()];
    prepared.ready = false;
    lock.unlock();
    prepare(slices_[mine], pixels, prepared);
    lock.lock();
    prepared.ready = true;
    changed_.notify_all();
  }
}

void Loader::prepare(const Slice& slice, std::vector<std::uint8_t>& pixels, Prepared& into) const {
  const std::size_t plane = pixels.size() / (levels_.size() / 256);
  into.count = slice.count;
  into.error.reset();
  try {
    for (int i = 0; i < slice.count; ++i) {
      const std::int64_t position = slice.begin + i;
      const std::int64_t index =
          order_.empty() ? position : order_[static_cast<std::size_t>(position)];
      auto label = dataset_.read(options_.split, index, pixels);
      if (!label) {
        into.error = std::move(label).error();
        return;
      }
      into.labels[static_cast<std::size_t>(i)] = *label;
      float* image = into.images.data() + static_cast<std::size_t>(i) * pixels.size();
      for (std::size_t c = 0; c * plane < pixels.size(); ++c) {
        const float* levels = levels_.data() + c * 256;
        for (std::size_t p = c * plane; p < (c + 1) * plane; ++p) image[p] = levels[pixels[p]];
      }
    }
  } catch (const std::exception& problem) {
    into.error =
        Error{ErrorKind::unavailable, std::string("reading images: ") + problem.what(), ""};
  }
}

Result<Batch> Loader::hand_out(const Prepared& prepared) const {
  if (prepared.error) return *prepared.error;
  return Batch{.images = prepared.images, .labels = prepared.labels, .count = prepared.count};
}

Result<Batch> Loader::next() {
  assert(consumed_ < slices_.size() && "one call per slice");
  if (threads_.empty()) {
    std::vector<std::uint8_t> pixels(dataset_.pixels());
    prepare(slices_[consumed_++], pixels, ring_[0]);
    return hand_out(ring_[0]);
  }
  std::unique_lock lock(mutex_);
  const std::size_t mine = consumed_++;
  changed_.notify_all();  // the previous batch is given back by this call
  Prepared& prepared = ring_[mine % ring_.size()];
  changed_.wait(lock, [&] { return claimed_ > mine && prepared.ready; });
  return hand_out(prepared);
}

}  // namespace dllaunch

#include "trainer/loader.hpp"

#include <cassert>
#include <exception>
#include <utility>

namespace dllaunch {
Loader::Loader(const Dataset& dataset, const Normalization& normalization,
               std::vector<std::int64_t> order, std::vector<Slice> slices, LoaderOptions options)
    : preparation_(dataset, normalization, options.preparation),
      order_(std::move(order)),
      slices_(std::move(slices)),
      options_(options) {
  const auto workers = static_cast<std::size_t>(options.workers);
  ring_.resize(workers == 0 ? 1 : 2 * workers);
  for (auto& prepared : ring_) {
    prepared.images.resize(static_cast<std::size_t>(options.batch_size) * preparation_.pixels());
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
  ImagePreparation::Scratch scratch;
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
    prepare(slices_[mine], scratch, prepared);
    lock.lock();
    prepared.ready = true;
    changed_.notify_all();
  }
}

void Loader::prepare(const Slice& slice, ImagePreparation::Scratch& scratch, Prepared& into) const {
  const std::size_t pixels = preparation_.pixels();
  into.count = slice.count;
  into.error.reset();
  try {
    for (int i = 0; i < slice.count; ++i) {
      const std::int64_t position = slice.begin + i;
      const std::int64_t index =
          order_.empty() ? position : order_[static_cast<std::size_t>(position)];
      const auto row = static_cast<std::size_t>(i);
      auto label = preparation_.prepare(options_.split, index, scratch,
                                        std::span(into.images).subspan(row * pixels, pixels));
      if (!label) {
        into.error = std::move(label).error();
        return;
      }
      into.labels[row] = *label;
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
    prepare(slices_[consumed_++], scratch_, ring_[0]);
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

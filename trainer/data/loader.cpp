#include "trainer/data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "trainer/data/ready_batches.hpp"

namespace dllaunch {
namespace {

bool is_bad_image(const Result<Ok>& read) {
  return !read && read.error().kind == ErrorKind::bad_request;
}

std::size_t labels_of(const Dataset& dataset) {
  return static_cast<std::size_t>(std::max(dataset.tokens(), 1));
}

std::shared_ptr<std::byte> memory_for(const LoaderOptions& options, std::size_t bytes) {
  const auto& asked = options.destination.memory;
  auto memory = asked ? asked(bytes) : nullptr;
  if (memory != nullptr) return memory;
  const auto plain = std::make_shared<std::vector<std::byte>>(bytes);
  return {plain, plain->data()};
}

}  // namespace

ImageDestination destination_of(Executable* executable) {
  if (executable == nullptr) return {};
  return {.memory = [executable](std::size_t bytes) { return executable->image_memory(bytes); },
          .takes_bytes =
              [executable](const ImageRecipe& recipe) { return executable->takes_bytes(recipe); }};
}

bool only_reads(const Dataset& dataset, const ImagePreparation& preparation,
                const ImageDestination& destination) {
  return !dataset.floats() && dataset.tokens() == 0 && destination.takes_bytes &&
         destination.takes_bytes(*preparation.recipe());
}

Result<std::size_t> batches_in_memory(const Dataset& dataset, const ImagePreparation& preparation,
                                      const LoaderOptions& options) {
  const bool bytes = only_reads(dataset, preparation, options.destination);
  const std::size_t image =
      bytes ? dataset.pixels() + sizeof(ImageCut) : preparation.pixels() * sizeof(float);
  const std::size_t targets =
      dataset.targets() == TargetKind::class_index ? 0 : std::size_t(dataset.classes());
  return ready_batches(
      {.workers = options.workers,
       .batch_size = options.batch_size,
       .image_bytes = image + labels_of(dataset) * sizeof(std::int32_t) + targets * sizeof(float),
       .left = options.memory});
}

Loader::Loader(const Dataset& dataset, const Normalization& normalization,
               std::vector<std::int64_t> order, std::vector<Slice> slices, LoaderOptions options)
    : dataset_(dataset),
      preparation_(dataset, normalization, options.preparation),
      only_reads_(only_reads(dataset, preparation_, options.destination)),
      labels_(labels_of(dataset)),
      targets_(dataset.targets() == TargetKind::class_index
                   ? 0
                   : static_cast<std::size_t>(dataset.classes())),
      images_(dataset.size(options.split)),
      order_(std::move(order)),
      slices_(std::move(slices)),
      options_(std::move(options)) {
  const auto workers = static_cast<std::size_t>(options_.workers);
  const auto ready = batches_in_memory(dataset_, preparation_, options_);
  ring_.resize(ready ? *ready : 1);
  for (auto& prepared : ring_) reserve(prepared);
  // If the system refuses more threads, the existing ones do all the work; without any, next() does
  // it. The batches are the same.
  threads_.reserve(workers);
  try {
    for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  }
}

void Loader::reserve(Prepared& prepared) const {
  const auto rows = static_cast<std::size_t>(options_.batch_size);
  prepared.labels.resize(rows * labels_);
  prepared.targets.resize(rows * targets_);
  if (!only_reads_) {
    const std::size_t pixels = rows * preparation_.pixels();
    prepared.memory = memory_for(options_, pixels * sizeof(float));
    prepared.images = {reinterpret_cast<float*>(prepared.memory.get()), pixels};
    return;
  }
  const std::size_t cuts = rows * sizeof(ImageCut);
  const std::size_t pixels = rows * dataset_.pixels();
  prepared.memory = memory_for(options_, cuts + pixels);
  std::byte* const at = prepared.memory.get();
  prepared.cuts = {reinterpret_cast<ImageCut*>(at), rows};
  prepared.pixels = {reinterpret_cast<std::uint8_t*>(at + cuts), pixels};
}

Loader::Row Loader::row(Prepared& prepared, int at) const {
  const auto i = static_cast<std::size_t>(at);
  Row row;
  row.labels = std::span(prepared.labels).subspan(i * labels_, labels_);
  row.targets = std::span(prepared.targets).subspan(i * targets_, targets_);
  if (only_reads_) {
    row.pixels = prepared.pixels.subspan(i * dataset_.pixels(), dataset_.pixels());
    row.cut = &prepared.cuts[i];
  } else {
    row.image = prepared.images.subspan(i * preparation_.pixels(), preparation_.pixels());
  }
  return row;
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
    // next()'s caller still reads the last batch, so only consumed_ - 1 have been released.
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

Result<Ok> Loader::prepare_image(std::int64_t index, ImagePreparation::Scratch& scratch,
                                 const Row& row) const {
  if (dataset_.tokens() > 0) {
    return dataset_.read_tokens(options_.split, index, row.image, row.labels);
  }
  auto label = only_reads_ ? dataset_.read(options_.split, index, row.pixels)
                           : preparation_.prepare(options_.split, index, scratch, row.image);
  if (only_reads_) *row.cut = preparation_.cut_of(options_.split, index);
  if (!label) return std::move(label).error();
  row.labels[0] = *label;
  if (targets_ == 0) return Ok{};
  return dataset_.read_targets(options_.split, index, row.targets);
}

/// bad_request: the image was skipped and has no replacement.
Result<Ok> Loader::read_image(std::int64_t index, ImagePreparation::Scratch& scratch,
                              const Row& row, std::vector<Error>& skipped) const {
  auto read = prepare_image(index, scratch, row);
  if (!options_.skip_bad || !is_bad_image(read)) return read;
  skipped.push_back(read.error());
  if (options_.split == Split::validation) return read;
  constexpr std::int64_t most_in_a_row = 100;
  for (std::int64_t i = 1; i < std::min(images_, most_in_a_row); ++i) {
    auto next = prepare_image((index + i) % images_, scratch, row);
    if (!is_bad_image(next)) return next;
  }
  return Error{
      ErrorKind::unsatisfiable,
      fmt::format("{} images in a row are bad, the first of them {}",
                  std::min(images_, most_in_a_row), read.error().what),
      read.error().hint.empty() ? "this is more than a few bad images" : read.error().hint};
}

void Loader::prepare(const Slice& slice, ImagePreparation::Scratch& scratch, Prepared& into) const {
  into.count = 0;
  into.error.reset();
  into.out_of_memory = false;
  into.skipped.clear();
  try {
    for (int i = 0; i < slice.count; ++i) {
      const std::int64_t position = slice.begin + i;
      const std::int64_t index =
          order_.empty() ? position : order_[static_cast<std::size_t>(position)];
      auto read = read_image(index, scratch, row(into, into.count), into.skipped);
      if (options_.skip_bad && is_bad_image(read)) continue;
      if (!read) {
        into.error = std::move(read).error();
        if (!options_.skip_bad) into.error = with_skip_hint(*std::move(into.error));
        return;
      }
      ++into.count;
    }
    if (only_reads_) tell_bytes(into);
  } catch (const std::exception& problem) {
    into.out_of_memory = dynamic_cast<const std::bad_alloc*>(&problem) != nullptr;
    into.error =
        Error{ErrorKind::unavailable, std::string("reading images: ") + problem.what(), ""};
  }
}

void Loader::tell_bytes(Prepared& prepared) const {
  static std::atomic<std::uint64_t> batches = 0;
  const auto rows = static_cast<std::size_t>(prepared.count);
  prepared.bytes = {.pixels = prepared.pixels.first(rows * dataset_.pixels()),
                    .cuts = prepared.cuts.first(rows),
                    .recipe = preparation_.recipe(),
                    .memory = prepared.memory,
                    .number = ++batches};
}

Result<Batch> Loader::hand_out(Prepared& prepared, const Prepared* ahead) {
  skipped_.insert(skipped_.end(), prepared.skipped.begin(), prepared.skipped.end());
  out_of_memory_ = prepared.out_of_memory;
  if (prepared.error) return *prepared.error;
  const bool known = only_reads_ && ahead != nullptr && !ahead->error;
  return Batch{.images = prepared.images,
               .labels = prepared.labels,
               .count = prepared.count,
               .targets = prepared.targets,
               .bytes = only_reads_ ? &prepared.bytes : nullptr,
               .ahead = known ? &ahead->bytes : nullptr};
}

Result<Batch> Loader::next() {
  assert(consumed_ < slices_.size() && "one call per slice");
  if (threads_.empty()) {
    prepare(slices_[consumed_++], scratch_, ring_[0]);
    return hand_out(ring_[0], nullptr);
  }
  std::unique_lock lock(mutex_);
  const std::size_t mine = consumed_++;
  changed_.notify_all();  // this call releases the previous batch
  Prepared& prepared = ring_[mine % ring_.size()];
  changed_.wait(lock, [&] { return claimed_ > mine && prepared.ready; });
  const Prepared& following = ring_[(mine + 1) % ring_.size()];
  return hand_out(prepared, claimed_ > mine + 1 && following.ready ? &following : nullptr);
}

}  // namespace dllaunch

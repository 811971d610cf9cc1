#include "trainer/backends/gpu/layers/image_input.hpp"

#include <cassert>
#include <utility>

#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {
namespace {

std::size_t size(std::int64_t of) {
  return static_cast<std::size_t>(of);
}
/// Returns the channels of the data set's images.
std::int64_t planes(const Volume& shape) {
  return shape.channels * shape.depth;
}

std::vector<AxisPoint> points_of(const AxisResize& axis) {
  std::vector<AxisPoint> points;
  for (std::size_t i = 0; i < axis.from.size(); ++i) {
    points.push_back(
        {.first = axis.from[i], .second = axis.from[i] + axis.step[i], .weight = axis.weight[i]});
  }
  return points;
}

}  // namespace

ImageInput::ImageInput(const Volume& shape, DeviceMemory& memory)
    : shape_(shape),
      memory_(memory),
      images_(memory.add(size(shape.elements()) * sizeof(float))),
      cuts_(memory.add(size(shape.rows) * sizeof(ImageCut))),
      levels_(memory.add(size(planes(shape)) * 256 * sizeof(float))),
      lines_(memory.add(size(shape.height) * sizeof(AxisPoint))),
      columns_(memory.add(size(shape.width) * sizeof(AxisPoint))),
      transfer_(memory) {}

bool ImageInput::supports(const ImageRecipe& recipe) const {
  const std::int64_t bytes =
      std::int64_t{recipe.from.channels} * recipe.from.height * recipe.from.width;
  const std::int64_t floats = planes(shape_) * shape_.height * shape_.width;
  return recipe.from.channels == planes(shape_) && std::ssize(recipe.rows.from) == shape_.height &&
         std::ssize(recipe.columns.from) == shape_.width &&
         bytes <= floats * std::int64_t{sizeof(float)};
}

void ImageInput::send(const Batch& batch) {
  const bool there = prefetched_ && batch.bytes != nullptr && batch.bytes->number == sent_.number;
  // Finish an unused prefetch before its memory is reused.
  if (prefetched_ && !there) transfer_.wait();
  prefetched_ = false;
  if (there) return;
  if (batch.bytes == nullptr) return send_floats(batch);
  send_bytes(*batch.bytes);
}

void ImageInput::prefetch(const Batch& batch) {
  if (batch.ahead == nullptr || prefetched_) return;
  send_bytes(*batch.ahead);
  prefetched_ = true;
}

void ImageInput::send_floats(const Batch& batch) {
  const std::size_t present = size(batch.count) * size(shape_.pixels()) * size(shape_.channels);
  assert(batch.images.size() >= present);
  sent_ = {};
  transfer_.send({{.to = images_,
                   .from = std::as_bytes(batch.images.first(present)),
                   .bytes = size(shape_.elements()) * sizeof(float)}});
}

void ImageInput::send_bytes(const ByteImages& bytes) {
  assert(supports(*bytes.recipe) && std::ssize(bytes.cuts) <= shape_.rows);
  if (bytes.recipe != recipe_) send_recipe(bytes.recipe);
  sent_ = bytes;
  transfer_.send({{.to = images_, .from = std::as_bytes(bytes.pixels)},
                  {.to = cuts_,
                   .from = std::as_bytes(bytes.cuts),
                   .bytes = size(shape_.rows) * sizeof(ImageCut)}});
}

/// Called once per loader.
void ImageInput::send_recipe(std::shared_ptr<const ImageRecipe> recipe) {
  transfer_.wait();  // for the previous recipe
  recipe_ = std::move(recipe);
  line_points_ = points_of(recipe_->rows);
  column_points_ = points_of(recipe_->columns);
  transfer_.send({{.to = levels_, .from = std::as_bytes(std::span(recipe_->levels))},
                  {.to = lines_, .from = std::as_bytes(std::span(line_points_))},
                  {.to = columns_, .from = std::as_bytes(std::span(column_points_))}});
}

template <typename T>
void ImageInput::unpack(GpuStream stream, T* to, float* exact) {
  transfer_.receive(stream);
  assert(exact == nullptr || sent_.number == 0);
  if (sent_.number == 0) {
    launch(stream, shape_.elements(),
           ToChannelsLast<float, T>{memory_.at<float>(images_), to, shape_, false});
    if (exact != nullptr) {
      launch(stream, shape_.elements(),
             Convert<float, float>{memory_.at<float>(images_), exact, false});
    }
  } else {
    const bool resizes = recipe_->resizes();
    const BytePlanes from{.pixels = memory_.at<std::uint8_t>(images_),
                          .height = recipe_->from.height,
                          .width = recipe_->from.width,
                          .levels = memory_.at<float>(levels_),
                          .lines = resizes ? memory_.at<AxisPoint>(lines_) : nullptr,
                          .columns = resizes ? memory_.at<AxisPoint>(columns_) : nullptr};
    launch(stream, shape_.rows * shape_.pixels(),
           PrepareImages<T>{from, memory_.at<ImageCut>(cuts_), to, shape_});
  }
  transfer_.release(stream);
}

template void ImageInput::unpack(GpuStream, float*, float*);
template void ImageInput::unpack(GpuStream, BFloat16*, float*);
template void ImageInput::unpack(GpuStream, Float16*, float*);

}  // namespace dllaunch::gpu

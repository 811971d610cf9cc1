#include "trainer/backends/onednn/elementwise.hpp"

#include <cstddef>
#include <cstdint>

#include "runtime/numerics/vectors.hpp"
#include "trainer/backends/onednn/versions.hpp"

namespace dllaunch::onednn {
namespace {

constexpr std::int64_t piece = 16;  // elements

/// Memory-bound, so the compiler's default vector width is enough.
template <typename T>
void add_all(const std::byte* a, const std::byte* b, std::byte* total, std::int64_t count) {
  const std::int64_t pieces = count / piece;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < pieces; ++i) {
    Vector<float, piece> x;
    Vector<float, piece> y;
    load_vector<T, piece>(a + i * piece * bytes, x);
    load_vector<T, piece>(b + i * piece * bytes, y);
    x += y;
    store_vector<T, piece>(x, total + i * piece * bytes);
  }
  for (std::int64_t i = pieces * piece; i < count; ++i) {
    Vector<float, 1> x;
    Vector<float, 1> y;
    load_vector<T, 1>(a + i * bytes, x);
    load_vector<T, 1>(b + i * bytes, y);
    x += y;
    store_vector<T, 1>(x, total + i * bytes);
  }
}

}  // namespace

void add_elements(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& total) {
  const auto* x = static_cast<const std::byte*>(a.get_data_handle());
  const auto* y = static_cast<const std::byte*>(b.get_data_handle());
  auto* to = static_cast<std::byte*>(total.get_data_handle());
  const dnnl::memory::desc layout = total.get_desc();
  const auto bytes = static_cast<std::int64_t>(layout.get_size());
  if (type_of(layout) == dnnl::memory::data_type::bf16) {
    add_all<BFloat16>(x, y, to, bytes / 2);
  } else {
    add_all<float>(x, y, to, bytes / 4);
  }
}

}  // namespace dllaunch::onednn

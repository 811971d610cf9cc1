#include "trainer/reports/parameter_histograms.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace dllaunch {
namespace {

std::vector<double> doubles_of(std::span<const std::byte> bytes, DType type) {
  const auto convert = [&]<typename Real>(const Real* begin) {
    return std::vector<double>(begin, begin + bytes.size() / sizeof(Real));
  };
  return type == DType::f64 ? convert(reinterpret_cast<const double*>(bytes.data()))
                            : convert(reinterpret_cast<const float*>(bytes.data()));
}

}  // namespace

std::vector<Histogram> parameter_histograms(const Executable& executable,
                                            const ParameterArenas& arenas, bool stepped) {
  std::vector<Histogram> found;
  const std::vector<Tensor> weights = arenas.weights();
  for (const Tensor& tensor : weights) {
    found.push_back(
        make_histogram("weights/" + tensor.name, doubles_of(tensor.data, executable.dtype())));
  }
  if (!stepped || arenas.sharded()) return found;
  const std::string folder = arenas.directs() ? "directions/" : "gradients/";
  const auto& slots = executable.slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const int slot = static_cast<int>(i);
    if (arenas.frozen(slot)) continue;  // not summed over ranks
    std::vector<std::byte> plain(static_cast<std::size_t>(elements_of(slots[i].shape)) *
                                 bytes_of(executable.dtype()));
    executable.to_plain(slot, arenas.layout().at(arenas.gradients(), slot), plain.data());
    plain.resize(weights[i].data.size());  // without padding of a split layer
    found.push_back(make_histogram(folder + slots[i].name, doubles_of(plain, executable.dtype())));
  }
  return found;
}

}  // namespace dllaunch

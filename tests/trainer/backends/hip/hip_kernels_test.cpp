// The object that hipcc compiles from kernels.cpp: inspects its AMD machine code without running
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/trainer/backends/gpu/kernels/kernel_names.hpp"
#include "trainer/backends/gpu/kernels/kernel_list.hpp"

namespace dllaunch {
namespace {

using testing::IsEmpty;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Reads a number or struct at an offset of a file's bytes.
template <typename T>
T at(std::string_view bytes, std::size_t place) {
  T value = {};
  if (place > bytes.size() || bytes.size() - place < sizeof value) {
    throw std::out_of_range("cut short at byte " + std::to_string(place));
  }
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}
std::string_view piece(std::string_view bytes, std::size_t place, std::size_t size) {
  if (place > bytes.size() || bytes.size() - place < size) {
    throw std::out_of_range("cut short at byte " + std::to_string(place));
  }
  return bytes.substr(place, size);
}

/// Returns the code for one GPU from clang's offload bundle in the host object; empty: none. The
/// bundle is a magic string and a count, then the offset, size and name of each entry.
std::string_view code_for(std::string_view object, std::string_view gpu) {
  constexpr std::string_view mark = "__CLANG_OFFLOAD_BUNDLE__";
  const std::size_t begin = object.find(mark);
  if (begin == std::string_view::npos) return {};
  const std::string_view bundle = object.substr(begin);
  std::size_t next = mark.size();
  const auto count = at<std::uint64_t>(bundle, next);
  next += sizeof count;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto place = at<std::uint64_t>(bundle, next);
    const auto size = at<std::uint64_t>(bundle, next + 8);
    const auto letters = at<std::uint64_t>(bundle, next + 16);
    const std::string_view name = piece(bundle, next + 24, letters);
    next += 24 + letters;
    if (name.ends_with(gpu)) return piece(bundle, place, size);
  }
  return {};
}

struct Symbols {
  std::set<std::string> defined;
  std::set<std::string> undefined;
};

/// Returns the symbols of the dynamic table and, if not stripped, of the linker's table.
Symbols symbols_of(std::string_view code) {
  Symbols found;
  const auto header = at<Elf64_Ehdr>(code, 0);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(code, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    const auto strings =
        at<Elf64_Shdr>(code, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    const std::string_view names = piece(code, strings.sh_offset, strings.sh_size);
    for (std::size_t s = 1; s < section.sh_size / sizeof(Elf64_Sym); ++s) {
      const auto symbol = at<Elf64_Sym>(code, section.sh_offset + s * sizeof(Elf64_Sym));
      const std::string name = names.substr(symbol.st_name).data();
      (symbol.st_shndx == SHN_UNDEF ? found.undefined : found.defined).insert(name);
    }
  }
  return found;
}

/// Returns the functors, such as "SumOfTwo<float>", of all call_for_each() kernels. Each kernel has
/// a descriptor, NAME.kd.
std::set<std::string> bodies_of(const std::set<std::string>& symbols) {
  std::set<std::string> bodies;
  for (const std::string& symbol : symbols) {
    if (!symbol.ends_with(".kd")) continue;
    bodies.insert(functor_of(symbol.substr(0, symbol.size() - 3)));
  }
  return bodies;
}

TEST(HipKernels, HoldEveryBodyForEveryGpuAndLackNothing) {
  const std::string_view off = DLLAUNCH_HIP_OFF;
  if (!off.empty()) GTEST_SKIP() << "no kernel has been compiled for AMD: " << off;
  const std::string object = read(DLLAUNCH_HIP_KERNELS);
  const std::set<std::string> listed = listed_functors(gpu::Kernels{});
  ASSERT_GT(listed.size(), 60U);
  std::istringstream targets(DLLAUNCH_HIP_TARGETS);
  int gpus = 0;
  for (std::string gpu; targets >> gpu; ++gpus) {
    const std::string_view code = code_for(object, gpu);
    ASSERT_TRUE(code.starts_with(ELFMAG)) << "no code for " << gpu;
    const Symbols symbols = symbols_of(code);
    const std::set<std::string> compiled = bodies_of(symbols.defined);
    EXPECT_TRUE(std::ranges::includes(compiled, listed)) << gpu;
    EXPECT_GT(compiled.size(), listed.size()) << "and those of optimisers";
    EXPECT_THAT(symbols.undefined, IsEmpty()) << gpu;
    std::cout << "hipcc compiled " << listed.size() << " kernels for " << gpu << ", "
              << code.size() / 1024 << " KiB\n";
  }
  EXPECT_GT(gpus, 0);
}

/// Checks the inspection itself: it detects missing code.
TEST(HipKernels, AnObjectWithoutCodeOrCutShortIsSeen) {
  EXPECT_TRUE(code_for("no bundle", "gfx90a").empty());
  EXPECT_THROW(code_for("__CLANG_OFFLOAD_BUNDLE__", "gfx90a"), std::out_of_range);
  EXPECT_THROW(symbols_of(ELFMAG), std::out_of_range);
  EXPECT_EQ(bodies_of({"_ZN8dllaunch13call_for_eachINS_3gpu8SumOfTwoIfEEEEvllT_.kd",
                       "_ZN8dllaunch13call_for_eachINS_3gpu8SumOfTwoIfEEEEvllT_", "other.kd"}),
            (std::set<std::string>{"SumOfTwo<float>", "other"}));
}

}  // namespace
}  // namespace dllaunch

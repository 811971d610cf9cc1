// The header of a .npy file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "support/result.hpp"
#include "trainer/data/codecs/random_access_file.hpp"

namespace dllaunch {

struct NpyHeader {
  char kind = 'u';  // u unsigned, i signed, f float, b boolean: little-endian
  std::size_t item_bytes = 1;
  std::vector<std::uint64_t> shape;  // outermost first, C order
  std::uint64_t data_begin = 0;      // bytes from the beginning of the file
};

/// Largest header that is read; numpy's are far smaller.
constexpr std::size_t npy_header_bytes_max = 65536;

/// Parses a header of version 1 to 3 from the first bytes of a file. bad_request: not .npy,
/// damaged, in Fortran order, big-endian, or not of a plain numeric type.
Result<NpyHeader> parse_npy_header(std::span<const std::uint8_t> beginning);

struct NpyFile {
  RandomAccessFile file;
  NpyHeader header;
};

/// Errors name the file. bad_request as for parse_npy_header(), or if the file's length does not
/// match its header.
Result<NpyFile> open_npy(const std::filesystem::path& path);

}  // namespace dllaunch

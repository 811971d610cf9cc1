// Reads TensorBoard event files by their format, independently of our writer except for the
// checksum.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/reports/crc32c.hpp"

namespace dllaunch {

struct Records {
  std::vector<std::string> data;
  std::size_t rest = 0;  // bytes of an incomplete record at the end
  bool damaged = false;  // a checksum does not match
};

inline Records records_of(std::string_view file) {
  Records read;
  while (file.size() >= 16) {
    std::uint64_t length = 0;
    std::uint32_t of_length = 0;
    std::uint32_t of_data = 0;
    std::memcpy(&length, file.data(), 8);
    std::memcpy(&of_length, file.data() + 8, 4);
    if (of_length != masked_crc32c(file.substr(0, 8))) {
      read.damaged = true;
      return read;
    }
    if (file.size() < 16 + length) break;
    const auto data = file.substr(12, length);
    std::memcpy(&of_data, file.data() + 12 + length, 4);
    if (of_data != masked_crc32c(data)) {
      read.damaged = true;
      return read;
    }
    read.data.emplace_back(data);
    file.remove_prefix(16 + length);
  }
  read.rest = file.size();
  return read;
}

/// The fields of a protocol buffer message by number; varints and fixed-width numbers as bits.
struct Field {
  std::uint64_t bits = 0;
  std::string bytes;
  double real() const { return std::bit_cast<double>(bits); }
  float single() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
};
using Fields = std::multimap<int, Field>;

inline std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

inline Fields fields_of(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    Field field;
    std::size_t size = 0;
    if ((key & 7U) == 0) field.bits = take_varint(bytes);
    if ((key & 7U) == 1) size = 8;
    if ((key & 7U) == 5) size = 4;
    if ((key & 7U) == 2) size = take_varint(bytes);
    field.bytes = bytes.substr(0, size);
    if ((key & 7U) == 1 || (key & 7U) == 5) std::memcpy(&field.bits, bytes.data(), size);
    bytes.remove_prefix(field.bytes.size());
    fields.emplace(static_cast<int>(key >> 3U), field);
  }
  return fields;
}

}  // namespace dllaunch

// The checksum of TFRecord files.
#pragma once

#include <cstdint>
#include <string_view>

namespace dllaunch {

/// CRC-32C (Castagnoli), reflected polynomial 0x82f63b78, as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

/// As TFRecord stores it: a checksum of data that holds checksums says little without.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace dllaunch

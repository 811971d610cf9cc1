// The checksum of TFRecord files.
#pragma once

#include <cstdint>
#include <string_view>

namespace dllaunch {

/// Returns the CRC-32C (Castagnoli) of `bytes`: reflected polynomial 0x82f63b78, as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

/// Returns the masked form that TFRecord stores. Masking avoids computing the checksum of data that
/// contains checksums.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace dllaunch

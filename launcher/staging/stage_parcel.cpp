#include "launcher/staging/stage_parcel.hpp"

#include <fmt/core.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "launcher/plan/stage.hpp"
#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t checksum_digits = 32;

bool is_checksum(const std::string& text) {
  return text.size() == checksum_digits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Error cannot_read(const std::string& path) {
  return {ErrorKind::unavailable, fmt::format("cannot read {}: {}", path, std::strerror(errno)),
          ""};
}

}  // namespace

std::string programs_parcel() {
  return "programs";
}

std::string source_parcel(const std::string& source) {
  return "source-" + staged_name(source);
}

std::string parcel_folder(const std::string& stage_folder) {
  return stage_folder + "/.parcels";
}

std::string parcel_path(const std::string& stage_folder, const std::string& name) {
  return parcel_folder(stage_folder) + "/" + name;
}

Result<std::string> file_checksum(const std::string& path) {
  constexpr std::size_t piece_bytes = 4 << 20;
  const int file = open_regular_file(path);
  if (file < 0) return cannot_read(path);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(piece_bytes);
  ssize_t count = 1;
  while (count > 0) {
    count = read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR)
      count = 1;
    else if (count > 0)
      XXH3_128bits_update(state.get(), piece.data(), static_cast<std::size_t>(count));
  }
  const int why = errno;
  close(file);
  errno = why;
  if (count < 0) return cannot_read(path);
  const auto digest = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

std::string word_of(const Parcel& parcel) {
  return parcel.name + "=" + parcel.checksum;
}

Result<Parcel> parcel_of(const std::string& word) {
  const auto at = word.rfind('=');
  Parcel parcel;
  if (at != std::string::npos) parcel = {word.substr(0, at), word.substr(at + 1)};
  const bool plain = !parcel.name.empty() && parcel.name.find('/') == std::string::npos;
  if (plain && is_checksum(parcel.checksum)) return parcel;
  return Error{ErrorKind::bad_request, fmt::format("--parcel: '{}' is no NAME=CHECKSUM", word), ""};
}

}  // namespace dllaunch

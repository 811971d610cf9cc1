// Parcels: what is read once and sent to the private folder of each node, and how a node knows
// them.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// What a broadcast brought: the name of a parcel and the checksum that it was sent with.
struct Parcel {
  std::string name;
  std::string checksum;
};

/// Names of the parcels, one of the programs and one a source.
std::string programs_parcel();
std::string source_parcel(const std::string& source);

/// Where parcels lie while they are sent and unpacked: in the job's own folder, which only its user
/// can enter. Beside it, in /tmp, another user may have put a file of any name.
std::string parcel_folder(const std::string& stage_folder);
std::string parcel_path(const std::string& stage_folder, const std::string& name);

/// XXH3 (128 bits) of a file's content as 32 hexadecimal digits: it finds what a transfer damaged
/// or an earlier start left. It is no signature; strangers are kept out by the folder's mode.
/// unavailable: the file cannot be read.
Result<std::string> file_checksum(const std::string& path);

/// "data=0011...": a parcel as one word, and back. bad_request: no such word.
std::string word_of(const Parcel& parcel);
Result<Parcel> parcel_of(const std::string& word);

}  // namespace dllaunch

// Parcels: files read once and sent to each node's private folder, with checksums.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// The name of a parcel and its checksum when sent.
struct Parcel {
  std::string name;
  std::string checksum;
};

/// Names of the parcels: one for the programs, one per source.
std::string programs_parcel();
std::string source_parcel(const std::string& source);

/// Returns where parcels are received and unpacked: in the job's private folder. In /tmp another
/// user could have created a file of the same name.
std::string parcel_folder(const std::string& stage_folder);
std::string parcel_path(const std::string& stage_folder, const std::string& name);

/// Returns XXH3 (128 bits) of a file's content as 32 hexadecimal digits. Detects damaged transfers
/// and stale files; it is not a signature, the folder's mode keeps other users out. unavailable:
/// the file cannot be read.
Result<std::string> file_checksum(const std::string& path);

/// Converts a parcel to a word "data=0011..." and back. bad_request: not such a word.
std::string word_of(const Parcel& parcel);
Result<Parcel> parcel_of(const std::string& word);

}  // namespace dllaunch

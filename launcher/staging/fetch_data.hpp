// Published data sets, fetched with the curl of this machine.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

struct PublishedFile {
  std::string name;
  std::string md5;         // as published beside the file
  std::string unpacks_to;  // of an archive: the folder in it; empty: the file stays as it is
  std::vector<std::string> members = {};  // of that folder, without which it is of no use
};

struct PublishedSet {
  std::string name;  // as train.dataset.kind has it
  std::string url;   // of the folder that holds the files
  std::vector<PublishedFile> files;
};

const std::vector<PublishedSet>& published_sets();

struct FetchOptions {
  std::string folder;  // made if absent
  std::string mirror;  // URL of a folder with the same files; empty: where they are published
  std::chrono::milliseconds told_every{5000};  // how far a transfer is
};

/// What is there already, whole, is left alone; what an earlier call began is continued. Files have
/// names that begin with a dot until their checksums hold.
/// unavailable: no curl, md5sum or tar, no way to the server, a server that refuses, no room.
/// bad_request: a checksum does not hold, and the file is gone; a folder that is there lacks files;
/// the mirror is no URL of a folder with such a file.
Result<Ok> fetch_data(System& system, const PublishedSet& set, const FetchOptions& options);

}  // namespace dllaunch

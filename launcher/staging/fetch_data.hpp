// Downloads published data sets with curl.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

struct PublishedFile {
  std::string name;
  std::string md5;         // as published with the file
  std::string unpacks_to;  // for an archive: its folder; empty: keep the file as it is
  std::vector<std::string> members = {};  // required members of that folder
};

struct PublishedSet {
  std::string name;  // value of train.dataset.kind
  std::string url;   // of the folder with the files
  std::vector<PublishedFile> files;
};

const std::vector<PublishedSet>& published_sets();

struct FetchOptions {
  std::string folder;  // created if absent
  std::string mirror;  // URL of a folder with the same files; empty: the original source
  std::chrono::milliseconds told_every{5000};  // interval of progress messages
};

/// Keeps complete files and continues partial ones. Names begin with a dot until the checksum is
/// verified. unavailable: no curl, md5sum or tar, server unreachable or refusing, disk full.
/// bad_request: a checksum does not match (the file is removed); an existing folder lacks files;
/// the mirror is not a URL of a folder with such a file.
Result<Ok> fetch_data(System& system, const PublishedSet& set, const FetchOptions& options);

}  // namespace dllaunch

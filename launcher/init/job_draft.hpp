// A job file before it is written: its keys with a comment each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

struct DraftKey {
  std::string key;
  Json value;
  std::string comment = {};  // one line; empty: none
};

struct JobDraft {
  std::vector<std::string> head = {};  // comments above everything
  std::string name = {};
  std::vector<DraftKey> resources = {};
  std::vector<DraftKey> environment = {};
  std::vector<DraftKey> other = {};  // top level: array, train, framework, run
};

/// The text of the job file. Texts of several lines are written as they are.
std::string render_draft(const JobDraft& draft);

/// Such a text for the named cluster; as it is if `cluster` is empty.
std::string for_cluster(std::string text, const std::string& cluster);

}  // namespace dllaunch

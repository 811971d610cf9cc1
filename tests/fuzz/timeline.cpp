// The timeline of a rank, as a file that anybody may have damaged.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "launcher/timeline/timeline_merge.hpp"
#include "runtime/timeline/format/timeline_format.hpp"
#include "support/json.hpp"
#include "tests/fuzz/must_hold.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void check_read(const std::string& path) {
  auto reader = TimelineReader::open(path);
  if (!reader) return;
  const TimelineHead& head = reader->head();
  must_hold(head.rank >= 0 && head.rank < head.ranks, "a rank is one of the job's");
  for (const ClockBounds& bounds : reader->clock()) {
    must_hold(bounds.low_ns <= bounds.middle_ns() && bounds.middle_ns() <= bounds.high_ns,
              "the middle is within the bounds");
  }
  while (const auto span = reader->next()) {
    must_hold(span->begin_ns >= head.base_ns, "nothing begins before the beginning");
    must_hold(span->end_ns >= span->begin_ns, "nothing ends before it begins");
    must_hold(span->track >= 0 && span->track < timeline_tracks, "a track is one of ours");
    must_hold(!span->name.empty() && span->name.size() <= longest_span_name, "a name fits");
  }
}

void check_merged(const std::string& folder) {
  const std::string output = folder + "/merged";
  const auto merged = merge_timelines(folder, std::nullopt, output);
  if (!merged) return;
  must_hold(Json::accept(text_of_file(output)), "a trace is JSON");
  must_hold(!render_merged(*merged).empty(), "a trace has a summary");
}

}  // namespace
}  // namespace dllaunch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  static const TemporaryFolder folder;
  const std::string path = folder.path() + "/rank-00000.json";
  std::ofstream(path, std::ios::binary) << text_of(data, size);
  check_read(path);
  check_merged(folder.path());
  return 0;
}

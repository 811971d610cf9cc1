// Scripts of strangers: whatever comes, findings inside the file, and corrections that end.
#include "launcher/lint/lint.hpp"
#include "launcher/lint/unified_diff.hpp"
#include "tests/fuzz/must_hold.hpp"
#include "topology/node/synthetic.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  static const auto node = synthetic_topology("numa:2 cores:4 gpus:2");
  lint::Surroundings around;
  around.topology = *node;
  around.is_folder = [](const std::string& path) { return path.size() % 2 == 0; };
  const auto text = text_of(data, size);
  const auto findings = lint::lint(text, around);
  for (const auto& finding : findings) {
    must_hold(finding.at <= text.size(), "a finding stands inside the script");
    must_hold(!finding.message.empty(), "a finding has a message");
    for (const auto& edit : finding.edits) {
      must_hold(edit.begin <= edit.end && edit.end <= text.size(), "an edit stands inside, too");
    }
  }
  const auto shown = lint::render_findings("job.sbatch", text, findings, false);
  must_hold(shown.find('\x1b') == std::string::npos, "nothing of the script moves the cursor");
  const auto fixed = lint::corrected(text, around);
  must_hold(lint::unified_diff("job.sbatch", text, fixed).empty() == (fixed == text),
            "a diff where something changed");
  return 0;
}

// Job files: an answer, or every problem, each at a place inside the file.
#include "launcher/job/job_file.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto parsed = parse_job(text_of(data, size), "job.yaml", {});
  must_hold(parsed.job.has_value() == parsed.problems.empty(), "a job, or its problems");
  for (const auto& problem : parsed.problems) {
    must_hold(problem.line >= 1 && problem.column >= 1, "a problem has a place");
    must_hold(!problem.message.empty(), "a problem has a message");
  }
  const auto shown = render(parsed.problems, false);
  must_hold(shown.find('\x1b') == std::string::npos, "nothing of the file moves the cursor");
  return 0;
}

// sbatch scripts: a job file that validates and is read as it is written, or the reasons.
#include "launcher/init/convert_sbatch.hpp"
#include "launcher/job/job_file.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto converted = convert_sbatch(text_of(data, size), {.file = "job.sbatch"});
  must_hold(converted.job.empty() != converted.reasons.empty(), "a job file, or reasons");
  if (converted.job.empty()) return 0;
  const auto parsed = parse_job(converted.job, "job.yaml", {});
  must_hold(parsed.job.has_value(), "the job file validates");
  must_hold(parsed.notes.empty(), "nothing in it reads otherwise than it is written");
  return 0;
}

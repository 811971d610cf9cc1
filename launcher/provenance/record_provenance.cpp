#include "launcher/provenance/record_provenance.hpp"

#include <filesystem>
#include <utility>

#include "launcher/base/secrets.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/base/version.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/provenance/kept_variables.hpp"
#include "launcher/provenance/seeds.hpp"
#include "launcher/provenance/versions.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::string provenance_path(const RunDir& run) {
  return run.path + "/provenance.json";
}

/// A run that continues from its own directory says nothing of where its code is.
std::optional<CodeState> code_of(System& system, const RunDir& run, const fs::path& job_file) {
  std::error_code ignored;
  const auto folder = job_file.parent_path();
  if (!folder.empty() && folder != fs::path(run.path))
    if (auto code = read_code_state(system, folder.string())) return code;
  return read_code_state(system, fs::current_path(ignored).string());
}

/// The file as the user wrote it; a run that continues from its own job.yaml keeps it.
Result<Ok> keep_given(System& system, const RunDir& run, const fs::path& job_file,
                      Readers readers) {
  constexpr std::uintmax_t most_bytes = 1 << 20;
  std::error_code error;
  const bool whole_file = fs::is_regular_file(job_file, error) &&
                          fs::file_size(job_file, error) <= most_bytes && !error;
  if (!whole_file || job_file == fs::path(run.job_yaml())) return Ok{};
  auto text = system.read_file(job_file.string());
  if (!text) return std::move(text).error();
  return write_file(run.path + "/job.given.yaml", *text, readers);
}

Result<Ok> keep_diff(System& system, const RunDir& run, bool wanted, Readers readers,
                     std::optional<CodeState>& code) {
  const std::string path = run.path + "/code.diff";
  const auto text = wanted && code ? read_code_diff(system, *code) : std::string();
  if (!text.empty()) return write_file(path, text, readers);
  // One of an earlier submission would be taken for this one's.
  std::error_code ignored;
  fs::remove(path, ignored);
  return Ok{};
}

}  // namespace

Result<Provenance> read_provenance(System& system, const RunDir& run) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  const auto text = read_run_file(system, provenance_path(run), most_bytes);
  if (!text) return text.error();
  return text->empty() ? Provenance() : provenance_in(*text);
}

void record_provenance(System& system, const RunDir& run, const Job& job, const LaunchPlan& plan,
                       const ProvenanceRequest& request) {
  const auto warn = [&system](const Error& error) {
    system.log("dllaunch: warning: " + error.what + "\n");
  };
  std::error_code ignored;
  const auto job_file = fs::absolute(request.job_file, ignored).lexically_normal();
  std::vector<std::pair<std::string, std::string>> of_process;
  for (const auto& name : request.variables)
    of_process.emplace_back(name, system.environment(name).value_or(""));
  auto variables = keep_variables(job.environment.variables, of_process);
  SubmissionRecord record{.time_s = unix_seconds(),
                          .host = system.host_name(),
                          .dllaunch = std::string(version()),
                          .job_file = job_file.string(),
                          .code = code_of(system, run, job_file),
                          .variables = std::move(variables.values),
                          .left_out = std::move(variables.left_out),
                          .versions = read_versions(system),
                          .seeds = seeds_of(job.resolved)};
  for (const auto& set : request.sets) record.sets.push_back(without_secrets(set));
  if (const auto python = python_of(job); !python.empty())
    record.python = ask_python(system, python, plan);
  if (auto kept = keep_given(system, run, job_file, request.readers); !kept) warn(kept.error());
  if (auto kept = keep_diff(system, run, job.keeps_diff, request.readers, record.code); !kept)
    warn(kept.error());
  auto earlier = read_provenance(system, run);
  if (!earlier) {
    warn(Error{.what = run.path + ": " + earlier.error().what + ": it begins anew"});
    earlier = Provenance();
  }
  const auto all = with_submission(*std::move(earlier), std::move(record));
  if (auto written = write_file(provenance_path(run), provenance_text(all), request.readers);
      !written)
    warn(written.error());
}

}  // namespace dllaunch

#include "launcher/supervise/hold/retry_order.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/run_outline.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_files.hpp"
#include "support/held_folder.hpp"
#include "support/json_fields.hpp"
#include "support/regular_file.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr std::array<std::string_view, 3> may_write = {"job.yaml", "plan.json", "train.json"};

std::string folder_of(const RunDir& run) {
  return run.path + "/.retry";
}
std::string name_of(const RunDir& run, std::int64_t fencing_token) {
  return fmt::format("{}/{}", folder_of(run), fencing_token);
}
std::string bell_of(const RunDir& run, std::int64_t fencing_token) {
  return name_of(run, fencing_token) + ".bell";
}

Error refused(const RunDir& run, const char* what, int why) {
  return {ErrorKind::unavailable,
          fmt::format("cannot {} {}: {}", what, folder_of(run), std::strerror(why)), ""};
}

/// Another user may have made it first, in a run's directory that is open to them. A run's
/// directory that is away is not made anew.
Result<Ok> make_folder(const RunDir& run) {
  if (mkdir(folder_of(run).c_str(), 0700) != 0 && errno != EEXIST)
    return refused(run, "make", errno);
  const auto folder = open_own_folder(folder_of(run));
  if (!folder) return folder.error();
  if (*folder < 0) return refused(run, "open", errno);
  close(*folder);
  return Ok{};
}

bool ring(const RunDir& run, std::int64_t fencing_token) {
  const auto bell = bell_of(run, fencing_token);
  const int file = open_run_file(run.path, bell, O_WRONLY | O_CREAT | O_APPEND);
  if (file < 0) return false;
  const bool rung = write(file, ".", 1) == 1;
  return close(file) == 0 && rung;
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, RetryOrder& order) {
  field.unless_empty("over", order.over);
  field.unless_empty("by", order.by);
  field.unless_empty("changes", order.changes);
  field.unless_empty("program", order.program);
  field.unless_empty("environment", order.variables);
  field.unless_empty("files", order.files);
}

std::optional<RetryOrder> parse_order(std::string_view text) {
  const auto document = json_object_in(text);
  RetryOrder order;
  if (!document.is_object() || !read_fields(document, order).empty()) return std::nullopt;
  const bool known = std::ranges::all_of(order.files, [](const auto& file) {
    return std::ranges::find(may_write, file.first) != may_write.end();
  });
  if (!known) return std::nullopt;
  return order;
}

Result<Ok> end_hold(const RunDir& run, std::int64_t fencing_token, const RetryOrder& order) {
  if (auto made = make_folder(run); !made) return made;
  std::random_device random;
  const auto whole = fmt::format("{}/.{:08x}{:08x}.tmp", folder_of(run), random(), random());
  auto written = write_file(whole, json_text(write_fields(order)), Readers::none);
  if (!written) return written;
  int why = link(whole.c_str(), name_of(run, fencing_token).c_str()) == 0 ? 0 : errno;
  // NFS may lose a reply and repeat the request, which then finds our own name.
  struct stat info {};
  if (why == EEXIST && stat(whole.c_str(), &info) == 0 && info.st_nlink == 2) why = 0;
  unlink(whole.c_str());
  if (why != 0 && why != EEXIST) return refused(run, "make a name in", why);
  // Without it the order is found later.
  const bool rung = ring(run, fencing_token);
  if (why == EEXIST) return Error{ErrorKind::unsatisfiable, "the hold has ended already", ""};
  if (!rung) return refused(run, "write", errno);
  return Ok{};
}

std::optional<RetryOrder> end_of_hold(const RunDir& run, std::int64_t fencing_token) {
  if (const auto folder = open_own_folder(folder_of(run)); folder && *folder >= 0)
    close(*folder);
  else
    return std::nullopt;
  return parse_order(file_end(name_of(run, fencing_token), most_bytes));
}

bool has_rung(const RunDir& run, std::int64_t fencing_token) {
  if (!make_folder(run)) return false;
  const auto bell = bell_of(run, fencing_token);
  int file = open_regular_file(bell);
  if (file < 0) file = open_run_file(run.path, bell, O_RDONLY | O_CREAT);
  struct stat info {};
  const bool rung = file >= 0 && fstat(file, &info) == 0 && info.st_size > 0;
  if (file >= 0) close(file);
  return rung;
}

namespace {

/// An order without files changes nothing.
void follow(const RetryOrder& order, SupervisedRun& run) {
  if (order.files.empty()) return;
  if (!order.program.empty() && !run.start.shim.empty()) run.start.program = order.program;
  run.retry_variables = order.variables;
}

}  // namespace

Result<JournalRetry> take_up(const RetryOrder& order, std::int64_t fencing_token,
                             SupervisedRun& run) {
  NamedTexts files = order.files;
  for (auto& [name, text] : files) name = run.dir.path + "/" + name;
  if (auto done = write_files(files, readers_of(run.dir.job_yaml())); !done)
    return std::move(done).error();
  for (const auto& [name, text] : order.files)
    if (name == "plan.json") run.recovery.plan = outline_from_json(json_object_in(text)).recovery;
  follow(order, run);
  return JournalRetry{.time = unix_seconds(),
                      .job = run.job(),
                      .allocation = run.allocation.restarts,
                      .fencing_token = fencing_token,
                      .by = order.by,
                      .changes = order.changes};
}

void follow_retry(System& system, SupervisedRun& run) {
  const auto text = system.read_file(run.dir.plan_json());
  const auto plan = text ? json_object_in(*text) : Json();
  const auto token = value_at<std::int64_t>(plan, retry_key);
  if (token <= 0) return;
  if (const auto order = end_of_hold(run.dir, token))
    follow(*order, run);
  else
    system.log(fmt::format("dllaunch: warning: {} of the last retry cannot be read\n",
                           name_of(run.dir, token)));
}

}  // namespace dllaunch

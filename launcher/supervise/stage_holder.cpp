#include "launcher/supervise/stage_holder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>

namespace dllaunch {
namespace {

bool is_pipe(int descriptor) {
  struct stat info {};
  return fstat(descriptor, &info) == 0 && S_ISFIFO(info.st_mode);
}

}  // namespace

Result<StageHolder> StageHolder::from(const std::string& text) {
  StageHolder stage_holder;
  if (text.empty()) return stage_holder;
  const char* end = text.data() + text.size();
  const auto input = std::from_chars(text.data(), end, stage_holder.input_);
  const bool colon = input.ec == std::errc() && input.ptr != end && *input.ptr == ':';
  const auto pid = std::from_chars(input.ptr + (colon ? 1 : 0), end, stage_holder.pid_);
  const bool whole = colon && pid.ec == std::errc() && pid.ptr == end && stage_holder.pid_ > 1;
  if (!whole || stage_holder.input_ < 3 || !is_pipe(stage_holder.input_))
    return Error{
        ErrorKind::bad_request,
        fmt::format("supervise: --keeper {} is not a pipe and a process of the script", text),
        "start it as the script that `dllaunch script` prints does"};
  fcntl(stage_holder.input_, F_SETFD, FD_CLOEXEC);
  return stage_holder;
}

void StageHolder::close_input() const {
  if (input_ >= 0) close(input_);
}

void StageHolder::let_go() const {
  if (input_ < 0) return;
  close(input_);
  constexpr int looks = 600;
  constexpr int pause_ms = 100;
  for (int i = 0; i < looks && waitpid(pid_, nullptr, WNOHANG) == 0; ++i)
    ::poll(nullptr, 0, pause_ms);
}

}  // namespace dllaunch

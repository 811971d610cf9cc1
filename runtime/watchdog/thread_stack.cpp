#include "runtime/watchdog/thread_stack.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "support/signal_stack.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_frames = 64;
constexpr std::size_t most_text = 400;
constexpr int own_frames = 2;  // the handler, and the kernel's way into it

enum class Slot { empty, asked, full };

// One stack at a time. A thread that answers too late still fills the slot, which stays taken until
// then.
std::atomic<Slot> slot{Slot::empty};
std::atomic<pid_t> asked_thread{0};
std::array<void*, most_frames> frames;
std::atomic<int> frame_count{0};
static_assert(std::atomic<Slot>::is_always_lock_free, "a signal handler writes it");

std::mutex one_at_a_time;
std::atomic<int> stack_signal{0};

void answer(int) {
  const int error = errno;
  if (slot.load(std::memory_order_acquire) == Slot::asked &&
      asked_thread.load(std::memory_order_relaxed) == ::syscall(SYS_gettid)) {
    frame_count.store(::backtrace(frames.data(), most_frames), std::memory_order_relaxed);
    slot.store(Slot::full, std::memory_order_release);
  }
  errno = error;
}

bool take_signal() {
  for (int number = SIGRTMAX - 1; number > SIGRTMIN; --number) {
    struct sigaction before {};
    if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    if (!handle_signal(number, answer)) continue;
    stack_signal = number;
    return true;
  }
  return false;
}

/// A thread that ended before it could answer never will.
bool is_taken() {
  if (slot.load(std::memory_order_acquire) != Slot::asked) return false;
  return ::syscall(SYS_tgkill, ::getpid(), asked_thread.load(), 0) == 0;
}

std::string name_of(void* address) {
  Dl_info info = {};
  if (::dladdr(address, &info) == 0) return fmt::format("{}", fmt::ptr(address));
  if (info.dli_sname != nullptr) return short_symbol(info.dli_sname);
  std::string_view module = info.dli_fname == nullptr ? "" : info.dli_fname;
  module.remove_prefix(module.rfind('/') + 1);
  return fmt::format("{}+{:#x}", module,
                     static_cast<char*>(address) - static_cast<char*>(info.dli_fbase));
}

std::string text_of(std::span<void* const> addresses) {
  std::vector<std::string> names;
  for (void* address : addresses) {
    // The call precedes the return address.
    std::string name = name_of(static_cast<char*>(address) - (names.empty() ? 0 : 1));
    if (!names.empty() && names.back() == name) continue;
    names.push_back(std::move(name));
    if (names.back() == "main") break;
  }
  // The frames that start a thread are irrelevant.
  while (names.size() > 1 && names.back().starts_with("libc.so")) names.pop_back();
  std::string text;
  for (const auto& name : names) {
    if (text.size() + name.size() + 3 > most_text) return text + " < ...";
    text += (text.empty() ? "" : " < ") + name;
  }
  return text;
}

}  // namespace

bool prepare_stacks() {
  static const bool ready = [] {
    std::array<void*, 4> warm_up = {};
    return ::backtrace(warm_up.data(), warm_up.size()) > 0 && take_signal();
  }();
  return ready;
}

std::string stack_of(pid_t thread, std::chrono::milliseconds patience) {
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  if (stack_signal == 0 || is_taken()) return "";
  asked_thread = thread;
  slot.store(Slot::asked, std::memory_order_release);
  if (::syscall(SYS_tgkill, ::getpid(), thread, stack_signal.load()) != 0) {
    slot = Slot::empty;
    return "";
  }
  while (slot.load(std::memory_order_acquire) != Slot::full) {
    if (std::chrono::steady_clock::now() > deadline) return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto count = static_cast<std::size_t>(frame_count.load(std::memory_order_relaxed));
  const std::size_t skipped = std::min<std::size_t>(own_frames, count);
  std::string text = text_of(std::span(frames).subspan(skipped, count - skipped));
  slot.store(Slot::empty, std::memory_order_release);
  return text;
}

std::string short_symbol(std::string_view symbol) {
  int status = -1;
  const std::string whole(symbol);
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(whole.c_str(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? plain.get() : whole;
  std::string shortened;
  int depth = 0;
  constexpr std::string_view nameless = "(anonymous namespace)::";
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (depth == 0 && std::string_view(name).substr(at).starts_with(nameless)) {
      at += nameless.size() - 1;
      continue;
    }
    const char c = name[at];
    if (c == '(' && depth == 0) break;
    if (c == '<') ++depth;
    if (depth == 0) shortened += c;
    if (c == '>' && depth > 0) --depth;
  }
  // A template's return type precedes its name.
  shortened.erase(0, shortened.rfind(' ') == std::string::npos ? 0 : shortened.rfind(' ') + 1);
  return shortened.empty() ? name.substr(0, 80) : shortened.substr(0, 80);
}

}  // namespace dllaunch

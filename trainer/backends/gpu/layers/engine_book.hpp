// Which engine of the vendor's library computes each convolution: chosen once, kept for the
// process, for the other ranks and for later runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "trainer/backends/gpu/layers/convolution_extents.hpp"

namespace dllaunch::gpu {

/// Seconds that a process may spend on timing engines: per pass of a convolution, and in all.
/// Passes that come later take the library's first engine that runs, or the one that was fastest
/// for the same convolution of another batch.
constexpr double search_seconds_each = 1;
constexpr double search_seconds = 30;

/// An engine as its library names it, with its settings: enough to plan it in another process.
/// cuDNN: global index, then type and value of each knob. MIOpen: the solution's number.
using EngineId = std::vector<std::int64_t>;

/// What an engine does that convolutions must not do unless no other engine runs, in the order in
/// which it is accepted. All but the last compute the same bits in every run.
enum class Relaxation {
  none,
  winograd,        // transforms of tiles: larger rounding errors
  fft,             // the same, of whole images
  rounded_inputs,  // fp32 only: TF32 (10 bits of mantissa) or less
  rounded_sums,    // sums of less than single precision
  unordered,       // nondeterministic
};
std::string_view to_string(Relaxation relaxation);

/// One per process, GPU and version of its libraries. Not thread-safe.
class EngineBook {
 public:
  using Clock = std::function<double()>;  // seconds, monotonic

  /// Reads what an earlier run stored in `file` (runtime/rank/measured.hpp; empty: nothing is kept)
  /// under `machine`, which says all that a choice depends on beside the shape.
  EngineBook(std::filesystem::path file, std::string machine, Clock clock = {});

  /// Returns the engine chosen in this process, by rank 0 or in an earlier run.
  std::optional<EngineId> find(const ConvolutionShape& shape, Pass pass) const;
  /// Returns the library's number of the engine last chosen for this convolution of another batch.
  std::optional<std::int64_t> of_another_batch(const ConvolutionShape& shape, Pass pass) const;
  /// `tried`: whether it ran; if not, it is not stored.
  void choose(const ConvolutionShape& shape, Pass pass, const EngineId& id, bool tried);
  void forget(const ConvolutionShape& shape, Pass pass);

  /// Returns what this process chose or used, for follow() on other ranks.
  std::string text() const;
  /// Takes rank 0's choices, which precede all others. Ignores damaged lines.
  void follow(std::string_view text);
  /// Writes the choices to the file if any is new. Ignores errors: the next run searches again.
  void save();

  double now() const { return clock_(); }
  /// Returns the time at which a search that starts now ends.
  double deadline() const;
  void spend(double seconds) { left_ -= seconds; }

  /// Receives lines for the user; empty: none.
  void warn_through(std::function<void(std::string_view)> warn) { warn_ = std::move(warn); }
  void warn(std::string_view line) const {
    if (warn_) warn_(line);
  }
  /// Remembers a relaxation for tell_relaxations().
  void relaxed(Relaxation how, const ConvolutionShape& shape, Pass pass);
  /// Warns of all relaxations since the last call in one line.
  void tell_relaxations();

 private:
  std::filesystem::path file_;
  std::string machine_;
  Clock clock_;
  double left_ = search_seconds;
  std::map<std::string, EngineId> stored_ = {};        // by text_of(), of earlier runs
  std::map<std::string, EngineId> chosen_ = {};        // by text_of()
  std::map<std::string, EngineId> unsaved_ = {};       // of chosen_
  std::map<std::string, std::int64_t> families_ = {};  // by text_of() without the batch
  std::map<Relaxation, std::vector<std::string>> relaxed_ = {};
  std::function<void(std::string_view)> warn_ = {};
};

/// Returns this process's book for the machine, with measured_file() of the environment. Later
/// calls return the same one, so that no size that `batch_size: auto` tries is searched twice.
std::shared_ptr<EngineBook> shared_engine_book(const EnvLookup& lookup, const std::string& machine);

}  // namespace dllaunch::gpu

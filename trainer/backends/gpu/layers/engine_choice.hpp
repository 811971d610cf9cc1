// The choice among the engines (algorithms) that a vendor's library has for a convolution, for
// cuDNN, MIOpen and the tests' library alike: by trial, with the next one where one fails.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/backends/gpu/layers/engine_book.hpp"

namespace dllaunch::gpu {

/// Limits of an engine's workspace in bytes, and of the engines that are timed for one pass.
constexpr std::size_t max_workspace = std::size_t{1} << 30;
constexpr std::size_t max_timed = 8;

struct Engine {
  EngineId id;
  Relaxation relaxation = Relaxation::none;
};

/// Device arrays of one call; the pass says which of x, w and y it writes. They are the gradients
/// in the backward passes.
struct ConvolutionMemory {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
};

/// An engine, ready to compute one pass of one shape.
struct EnginePlan {
  EngineId id;
  Relaxation relaxation = Relaxation::none;
  std::size_t workspace = 0;  // bytes
  /// Returns the library's error; empty: the work is on the stream.
  std::function<std::string(GpuStream stream, const ConvolutionMemory& at)> run;
};

/// What a library has for one pass of one shape.
struct PassEngines {
  /// In the library's order of preference.
  std::function<std::vector<Engine>()> list;
  /// Also plans engines of earlier runs, which list() need not name. nullopt: the library cannot.
  std::function<std::optional<EnginePlan>(const EngineId& id)> plan;
};

/// Returns the book's engine if it runs on zeros here; else, with a warning, forgets it and takes
/// the fastest on zeros of those with the least Relaxation that has any, within the book's time.
/// Every engine is tried until one runs. Allocates the arrays itself; without memory for them takes
/// the first engine that the library plans. unavailable: no engine runs.
Result<EnginePlan> choose_engine(std::string_view library, const ConvolutionShape& shape, Pass pass,
                                 const PassEngines& engines, EngineBook& book);

/// A library whose convolutions are chosen engines.
class EngineLibrary : public MathLibrary {
 public:
  /// `name` for messages, a literal.
  EngineLibrary(std::string_view name, std::shared_ptr<EngineBook> book)
      : name_(name), book_(std::move(book)) {}

  /// If the first call of an engine fails, the next one that runs replaces it, with a warning.
  Result<std::unique_ptr<Convolution>> convolution(const ConvolutionShape& shape) final;
  std::shared_ptr<EngineBook> engine_book() final { return book_; }

 private:
  /// bad_request or unavailable: the library does not support the shape.
  virtual Result<PassEngines> engines(const ConvolutionShape& shape, Pass pass) = 0;

  std::string_view name_;
  std::shared_ptr<EngineBook> book_;
};

}  // namespace dllaunch::gpu

#include "trainer/backends/gpu/layers/engine_choice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {
namespace {

constexpr double give_up_ratio = 3;  // to the best time so far: no more rounds
constexpr double never = std::numeric_limits<double>::infinity();

/// Arrays of zeros on which engines are tried.
class TrialMemory {
 public:
  explicit TrialMemory(const ConvolutionShape& shape) {
    const std::size_t each = bytes_of(shape.type);
    std::array<int, 3> pieces{};
    std::ranges::transform(std::array{shape.x, weights_of(shape), shape.y}, pieces.begin(),
                           [&](const Volume& v) {
                             return arrays_.add(static_cast<std::size_t>(v.elements()) * each);
                           });
    arrays_.place();
    if (arrays_.allocate() != gpu_success) return;
    for (const int piece : pieces) {
      const std::size_t bytes = arrays_.bytes(piece);
      if (bytes == 0) continue;
      check(gpu_clear_later(arrays_.at<void*>(piece), bytes, nullptr), "clear");
    }
    at_ = {.x = arrays_.at<void*>(pieces[0]),
           .w = arrays_.at<void*>(pieces[1]),
           .y = arrays_.at<void*>(pieces[2])};
  }
  bool good() const { return at_.has_value(); }
  /// Returns the arrays with a workspace; nullptr: no memory.
  const ConvolutionMemory* with_workspace(std::size_t bytes) {
    if (bytes > workspace_bytes_) {
      workspace_ = std::make_unique<DeviceMemory>();
      const int piece = workspace_->add(bytes);
      workspace_->place();
      workspace_bytes_ = workspace_->allocate() == gpu_success ? bytes : 0;
      at_->workspace = workspace_bytes_ > 0 ? workspace_->at<void*>(piece) : nullptr;
    }
    return bytes <= workspace_bytes_ ? &*at_ : nullptr;
  }

 private:
  DeviceMemory arrays_;
  std::unique_ptr<DeviceMemory> workspace_;
  std::size_t workspace_bytes_ = 0;
  std::optional<ConvolutionMemory> at_;
};

/// One choice among engines.
class Search {
 public:
  Search(const ConvolutionShape& shape, const PassEngines& engines, EngineBook& book)
      : engines_(engines),
        book_(book),
        memory_(shape),
        begin_(book.now()),
        deadline_(book.deadline()) {}
  ~Search() { book_.spend(book_.now() - begin_); }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  bool can_try() const { return memory_.good(); }
  const std::string& last_failure() const { return failure_; }

  std::optional<EnginePlan> plan(const EngineId& id) {
    auto planned = engines_.plan(id);
    if (planned && planned->workspace <= max_workspace) return planned;
    failure_ = planned ? "workspace above 1 GiB" : "cannot be planned";
    return std::nullopt;
  }

  /// Returns the plan if it runs; any, without memory to try it.
  std::optional<EnginePlan> working(const EngineId& id) {
    auto planned = plan(id);
    if (planned && can_try() && !runs(*planned)) return std::nullopt;
    return planned;
  }

  /// Returns the fastest of those that run, or the first one after the deadline; nullopt: none
  /// runs.
  std::optional<EnginePlan> fastest(const std::vector<EngineId>& ids) {
    std::optional<EnginePlan> best;
    double least = never;
    std::size_t timed = 0;
    for (const EngineId& id : ids) {
      if (best && (!can_try() || timed == max_timed || book_.now() >= deadline_)) break;
      auto planned = plan(id);
      if (!planned) continue;
      const int rounds = ids.size() > 1 ? 4 : 1;  // one alone is tried, not timed
      const double seconds = can_try() ? seconds_of(*planned, least, rounds) : 0;
      if (seconds == never) continue;
      ++timed;
      if (seconds < least) best = std::move(planned);
      least = std::min(least, seconds);
    }
    return best;
  }

 private:
  bool runs(const EnginePlan& planned) {
    const ConvolutionMemory* const at = memory_.with_workspace(planned.workspace);
    failure_ = at == nullptr ? "no memory for its workspace" : planned.run(nullptr, *at);
    if (failure_.empty()) {
      const GpuStatus ended = gpu_synchronise(nullptr);
      if (ended == gpu_success) return true;
      failure_ = gpu_words(ended);
    }
    gpu_clear_error();  // for the next engine
    return false;
  }

  /// Returns the seconds of one call: the best round after a warm-up, which may compile kernels.
  /// Only the warm-up's after the deadline. Infinity if a call fails.
  double seconds_of(const EnginePlan& planned, double least, int rounds) {
    double best = never;
    for (int round = 0; round < rounds; ++round) {
      const double start = book_.now();
      if (!runs(planned)) return never;
      const double end = book_.now();
      if (round == 0 && rounds > 1 && end < deadline_) continue;
      best = std::min(best, end - start);
      if (best > give_up_ratio * least || end >= deadline_) break;
    }
    return best;
  }

  const PassEngines& engines_;
  EngineBook& book_;
  TrialMemory memory_;
  double begin_;
  double deadline_;
  std::string failure_;
};

/// Stable: the engine of another batch first, then the library's order.
std::map<Relaxation, std::vector<EngineId>> by_relaxation(std::vector<Engine> engines,
                                                          std::optional<std::int64_t> first) {
  if (first) {
    std::ranges::stable_partition(engines,
                                  [&](const Engine& one) { return one.id.front() == *first; });
  }
  std::map<Relaxation, std::vector<EngineId>> sorted;
  for (Engine& engine : engines) sorted[engine.relaxation].push_back(std::move(engine.id));
  return sorted;
}

/// A convolution by one engine per pass.
class ChosenConvolution final : public Convolution {
 public:
  ChosenConvolution(std::string_view library, const ConvolutionShape& shape,
                    std::shared_ptr<EngineBook> book)
      : library_(library), shape_(shape), book_(std::move(book)) {}

  std::optional<Error> choose(Pass pass, PassEngines engines) {
    auto plan = choose_engine(library_, shape_, pass, engines, *book_);
    if (!plan) return std::move(plan).error();
    workspace_ = std::max(workspace_, plan->workspace);
    parts_[index(pass)] = {.engines = std::move(engines), .plan = *std::move(plan)};
    return std::nullopt;
  }

  std::size_t workspace() const override { return workspace_; }
  void forward(GpuStream stream, const void* x, const void* w, void* y, void* workspace) override {
    run(Pass::forward, stream, {changeable(x), changeable(w), y, workspace});
  }
  void backward_data(GpuStream stream, const void* dy, const void* w, void* dx,
                     void* workspace) override {
    run(Pass::backward_data, stream, {dx, changeable(w), changeable(dy), workspace});
  }
  void backward_weights(GpuStream stream, const void* x, const void* dy, void* dw,
                        void* workspace) override {
    run(Pass::backward_weights, stream, {changeable(x), dw, changeable(dy), workspace});
  }

 private:
  struct Part {
    PassEngines engines;
    EnginePlan plan;
    bool has_run = false;
  };

  static std::size_t index(Pass pass) { return static_cast<std::size_t>(pass); }
  /// One type of call serves all passes. The pass writes only its result.
  static void* changeable(const void* array) { return const_cast<void*>(array); }

  void run(Pass pass, GpuStream stream, const ConvolutionMemory& at) {
    Part& part = parts_[index(pass)];
    std::string why = part.plan.run(stream, at);
    const bool captured = capture_state().active;
    if (why.empty()) {
      part.has_run = part.has_run || !captured;
      return;
    }
    // What once ran has not become unfit: the device has failed.
    if (part.has_run || captured || !replace(pass, stream, at)) {
      return library_failed(library_, "convolution: " + std::move(why));
    }
    book_->warn(
        fmt::format("{}: the engine for convolution {} fails in its first step ({}); "
                    "another one computes: {}",
                    library_, text_of(shape_, pass), why, to_string(part.plan.relaxation)));
  }

  /// Runs the first other engine that can, within the workspace that there is.
  bool replace(Pass pass, GpuStream stream, const ConvolutionMemory& at) {
    Part& part = parts_[index(pass)];
    for (const auto& [relaxation, ids] : by_relaxation(part.engines.list(), std::nullopt)) {
      for (const EngineId& id : ids) {
        gpu_clear_error();  // of the engine before
        if (id == part.plan.id) continue;
        auto planned = part.engines.plan(id);
        if (!planned || planned->workspace > workspace_ || !planned->run(stream, at).empty()) {
          continue;
        }
        book_->choose(shape_, pass, id, /*tried=*/true);
        part.plan = *std::move(planned);
        part.has_run = true;
        return true;
      }
    }
    return false;
  }

  std::string_view library_;
  ConvolutionShape shape_;
  std::shared_ptr<EngineBook> book_;
  std::array<Part, 3> parts_;
  std::size_t workspace_ = 0;
};

}  // namespace

Result<EnginePlan> choose_engine(std::string_view library, const ConvolutionShape& shape, Pass pass,
                                 const PassEngines& engines, EngineBook& book) {
  Search search(shape, engines, book);
  const auto take = [&](EnginePlan plan) {
    book.choose(shape, pass, plan.id, search.can_try());
    book.relaxed(plan.relaxation, shape, pass);
    return plan;
  };
  if (const auto known = book.find(shape, pass)) {
    if (auto plan = search.working(*known)) return take(*std::move(plan));
    book.warn(
        fmt::format("{}: the engine chosen for convolution {} does not run here ({}); "
                    "another one computes",
                    library, text_of(shape, pass), search.last_failure()));
    book.forget(shape, pass);
  }
  const auto all = by_relaxation(engines.list(), book.of_another_batch(shape, pass));
  for (const auto& [relaxation, ids] : all) {
    if (auto plan = search.fastest(ids)) return take(*std::move(plan));
  }
  const std::string what = "convolution " + text_of(shape, pass);
  return Error{ErrorKind::unavailable,
               all.empty() ? fmt::format("{} has no engine for {}", library, what)
                           : fmt::format("all engines of {} fail for {}: {}", library, what,
                                         search.last_failure()),
               ""};
}

Result<std::unique_ptr<Convolution>> EngineLibrary::convolution(const ConvolutionShape& shape) {
  auto made = std::make_unique<ChosenConvolution>(name_, shape, book_);
  for (const auto& [pass, wanted] :
       {std::pair(Pass::forward, true), std::pair(Pass::backward_data, shape.backward_data),
        std::pair(Pass::backward_weights, shape.backward_weights)}) {
    if (!wanted) continue;
    auto found = engines(shape, pass);
    if (!found) return std::move(found).error();
    if (auto error = made->choose(pass, *std::move(found))) return *std::move(error);
  }
  return std::unique_ptr<Convolution>(std::move(made));
}

}  // namespace dllaunch::gpu

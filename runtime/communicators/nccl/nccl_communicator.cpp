#include "runtime/communicators/nccl/nccl_communicator.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/gpu/own_gpu.hpp"
#include "support/fatal.hpp"

namespace dllaunch {
namespace {

/// Ranks connect over sockets when NCCL starts; large jobs take a while.
constexpr std::chrono::seconds longest_start{300};

ncclDataType_t to_nccl(DType type) {
  switch (type) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::f16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i64:
      return ncclInt64;
    case DType::u8:
      return ncclUint8;
  }
  return ncclUint8;
}

ncclRedOp_t to_nccl(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return ncclSum;
    case ReduceOp::average:
      return ncclAvg;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
  }
  return ncclSum;
}

/// Collective over `host`: returns an error on every rank if any rank has one.
std::optional<Error> agree(Communicator& host, std::optional<Error> error) {
  std::int64_t failed = error ? 1 : 0;
  host.wait(host.all_reduce(&failed, 1, DType::i64, ReduceOp::max));
  if (failed != 0 && !error) {
    error = Error{ErrorKind::unavailable, "another rank has no GPU for nccl", ""};
  }
  return error;
}

std::optional<Error> fitting_library() {
  int version = 0;
  ncclGetVersion(&version);
  return version_problem(
      {.name = gpu_collectives, .found = version, .needed = NCCL_VERSION_CODE, .units = {}});
}

/// Makes this rank's GPU current and returns its address in `gpu`.
std::optional<Error> choose_gpu(const RankEnv& env, std::string& gpu) {
  auto error = fitting_library();
  if (!error) {
    auto taken = take_own_gpu(read_gpu_wish(env, process_environment()));
    if (taken) gpu = address_of_gpu(*taken);
    if (taken) return std::nullopt;
    error = std::move(taken).error();
  }
  if (error->hint.empty()) error->hint = "use runtime.allreduce: auto";
  return std::move(*error).within("nccl");
}

/// Collective over `host`: returns two ranks that share a GPU, as "; ranks 0 and 2 share GPU ...";
/// empty: none do. Asked after a failure only, since some versions let ranks share a GPU.
std::string shared_gpu(Communicator& host, const std::string& gpu) {
  using Place = std::array<char, 128>;  // a GPU's address and its host, then zeros
  std::vector<Place> places(static_cast<std::size_t>(host.size()));
  Place& mine = places[static_cast<std::size_t>(host.rank())];
  std::array<char, 65> name{};
  if (!gpu.empty() && ::gethostname(name.data(), name.size() - 1) == 0)
    fmt::format_to_n(mine.data(), mine.size() - 1, "{} of {}", gpu, name.data());
  host.wait(host.all_gather(places.data(), mine.size(), DType::u8));
  std::map<std::string_view, int> first;
  for (int rank = 0; rank < host.size(); ++rank) {
    const std::string_view place = places[static_cast<std::size_t>(rank)].data();
    const auto [held, is_first] = first.try_emplace(place, rank);
    if (is_first || place.empty()) continue;
    return fmt::format("; ranks {} and {} share GPU {}, or are on MIG instances of it",
                       held->second, rank, place);
  }
  return "";
}

Error refusal(std::string_view call, ncclResult_t result) {
  return Error{ErrorKind::unavailable,
               fmt::format("{}: {}: {}", gpu_collectives, call, ncclGetErrorString(result)),
               "NCCL_DEBUG=WARN prints details"};
}

bool calls_block() {
  return process_environment()("DLLAUNCH_NCCL_BLOCKING") == "1";
}

/// Waits for a non-blocking start. Peers may need this rank's part of `host`'s collectives.
std::optional<Error> wait_for_start(ncclComm_t comm, Communicator& host) {
  const auto deadline = std::chrono::steady_clock::now() + longest_start;
  for (;;) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
    if (asked != ncclSuccess) return refusal("ncclCommGetAsyncError", asked);
    if (state == ncclSuccess) return std::nullopt;
    if (!is_on_its_way(state)) return refusal("start", state);
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{ErrorKind::timeout,
                   fmt::format("{}: not all ranks joined within {} s", gpu_collectives,
                               longest_start.count()),
                   "NCCL_DEBUG=INFO prints which network it tries"};
    }
    host.test({});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Result<std::unique_ptr<Communicator>> NcclCommunicator::open(std::unique_ptr<Communicator>& host,
                                                             const RankEnv& env) {
  std::string gpu;
  if (auto error = agree(*host, choose_gpu(env, gpu))) return *std::move(error);

  ncclUniqueId id = {};
  std::optional<Error> error;
  if (host->rank() == 0) {
    const ncclResult_t made = ncclGetUniqueId(&id);
    if (made != ncclSuccess) error = refusal("ncclGetUniqueId", made);
  }
  if (auto agreed = agree(*host, std::move(error))) return *std::move(agreed);
  host->wait(host->broadcast(&id, sizeof id, DType::u8, 0));

  ncclComm_t comm = nullptr;
  const ncclResult_t started =
      start_communicator(comm, host->size(), id, host->rank(), calls_block());
  if (started != ncclSuccess && !is_on_its_way(started)) {
    error = refusal("start", started);
  } else {
    error = wait_for_start(comm, *host);
  }
  const bool mine = error.has_value();
  // Abort at once, so that ranks still waiting inside NCCL notice.
  if (mine && comm != nullptr) ncclCommAbort(std::exchange(comm, nullptr));
  if (auto agreed = agree(*host, std::move(error))) {
    if (comm != nullptr) ncclCommAbort(comm);
    if (!mine) agreed->what = fmt::format("{} could not start on another rank", gpu_collectives);
    const std::string shared = shared_gpu(*host, gpu);
    agreed->what += shared;
    if (!shared.empty()) agreed->hint = "give each rank a GPU, or use runtime.allreduce: auto";
    return *std::move(agreed);
  }
  return std::unique_ptr<Communicator>(new NcclCommunicator(std::move(host), comm));
}

NcclCommunicator::NcclCommunicator(std::unique_ptr<Communicator> host, ncclComm_t comm)
    : host_(std::move(host)), comm_(comm) {
  check(gpu_create_stream(stream_), "stream");
  check(gpu_create_event(ready_), "event");
}

NcclCommunicator::~NcclCommunicator() {
  while (!live_.empty()) wait({live_.front().id});
  ncclResult_t first = ncclSuccess;
  const auto take = [&](ncclResult_t result) {
    if (first == ncclSuccess && !is_on_its_way(result)) first = result;
  };
  for (const RegisteredBuffer& buffer : buffers_) {
    take(outcome(deregister_buffer(comm_, buffer)));
  }
  const ncclResult_t finished = outcome(finish_communicator(comm_));
  take(finished);
  // Peers that failed to finish may never end a plain destruction.
  take(finished == ncclSuccess ? ncclCommDestroy(comm_) : ncclCommAbort(comm_));
  for (const RegisteredBuffer& buffer : buffers_) take(free_buffer(buffer));
  for (const GpuEvent event : spare_) static_cast<void>(gpu_destroy_event(event));
  static_cast<void>(gpu_destroy_event(ready_));
  static_cast<void>(gpu_destroy_stream(stream_));
  // Not fatal: all results have arrived.
  if (first != ncclSuccess) {
    fmt::print(stderr, "rank {}: warning: {} ended with an error: {}\n", rank(), gpu_collectives,
               ncclGetErrorString(first));
  }
}

/// Waits for a call that goes on in the background. It may need peers that wait for this rank in a
/// collective of the host.
ncclResult_t NcclCommunicator::outcome(ncclResult_t result) {
  while (is_on_its_way(result)) {
    host_->test({});
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result);
    if (asked != ncclSuccess) return asked;
    std::this_thread::yield();
  }
  return result;
}

void NcclCommunicator::check(ncclResult_t result, std::string_view call) {
  result = outcome(result);
  if (result == ncclSuccess) return;
  const std::string why = fmt::format("{}: {}", call, ncclGetErrorString(result));
  ncclCommAbort(comm_);  // peers notice it, instead of waiting for this rank
  die(gpu_collectives, why);
}

void NcclCommunicator::check(GpuStatus status, std::string_view call) {
  if (status == gpu_success) return;
  const std::string why = fmt::format("{}: {}", call, gpu_words(status));
  ncclCommAbort(comm_);
  die(gpu_vendor_api, why);
}

/// Makes the next collective wait for all work given to the GPU so far.
void NcclCommunicator::begin() {
  check(gpu_record(ready_, nullptr), "record");
  check(gpu_wait_for(stream_, ready_), "wait");
}

Pending NcclCommunicator::end() {
  GpuEvent event = nullptr;
  if (spare_.empty()) {
    check(gpu_create_event(event), "event");
  } else {
    event = spare_.back();
    spare_.pop_back();
  }
  check(gpu_record(event, stream_), "record");
  live_.push_back({.id = next_++, .event = event, .of_host = {}});
  return {live_.back().id};
}

Pending NcclCommunicator::keep(Pending of_host) {
  live_.push_back({.id = next_++, .event = nullptr, .of_host = of_host});
  return {live_.back().id};
}

Pending NcclCommunicator::all_reduce(void* data, std::size_t count, DType type, ReduceOp op) {
  if (!gpu_owns(data)) return keep(host_->all_reduce(data, count, type, op));
  begin();
  check(ncclAllReduce(data, data, count, to_nccl(type), to_nccl(op), comm_, stream_), "all_reduce");
  return end();
}

Pending NcclCommunicator::reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) {
  if (!gpu_owns(data)) return keep(host_->reduce_scatter(data, count, type, op));
  begin();
  std::byte* const mine =
      static_cast<std::byte*>(data) + static_cast<std::size_t>(rank()) * count * bytes_of(type);
  check(ncclReduceScatter(data, mine, count, to_nccl(type), to_nccl(op), comm_, stream_),
        "reduce_scatter");
  return end();
}

Pending NcclCommunicator::all_gather(void* data, std::size_t count, DType type) {
  if (!gpu_owns(data)) return keep(host_->all_gather(data, count, type));
  begin();
  const std::byte* const mine =
      static_cast<std::byte*>(data) + static_cast<std::size_t>(rank()) * count * bytes_of(type);
  check(ncclAllGather(mine, data, count, to_nccl(type), comm_, stream_), "all_gather");
  return end();
}

Pending NcclCommunicator::broadcast(void* data, std::size_t count, DType type, int root) {
  if (!gpu_owns(data)) return keep(host_->broadcast(data, count, type, root));
  begin();
  check(ncclBroadcast(data, data, count, to_nccl(type), root, comm_, stream_), "broadcast");
  return end();
}

Pending NcclCommunicator::barrier() {
  return keep(host_->barrier());
}

bool NcclCommunicator::is_done(const Operation& operation) {
  if (operation.event == nullptr) return host_->test(operation.of_host);
  const GpuStatus state = gpu_query(operation.event);
  if (state == gpu_success) return true;
  if (state != gpu_not_ready) check(state, "collective");
  ncclResult_t result = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result);
  check(asked == ncclSuccess ? result : asked, "collective");
  return false;
}

bool NcclCommunicator::test(Pending pending) {
  host_->test({});  // peers may wait for this rank's part of collectives begun there
  const auto found = std::ranges::find(live_, pending.id, &Operation::id);
  if (found == live_.end()) return true;
  if (!is_done(*found)) return false;
  if (found->event != nullptr) spare_.push_back(found->event);
  live_.erase(found);
  return true;
}

void NcclCommunicator::wait(Pending pending) {
  while (!test(pending)) std::this_thread::yield();
}

bool NcclCommunicator::follow(Pending pending) {
  const auto found = std::ranges::find(live_, pending.id, &Operation::id);
  if (found == live_.end()) return true;
  if (found->event == nullptr) return false;
  check(gpu_wait_for(nullptr, found->event), "wait");
  return true;
}

std::span<std::byte> NcclCommunicator::allocate(std::size_t bytes) {
  if (on_host_) return host_->allocate(bytes);
  if (bytes == 0) return {};
  RegisteredBuffer buffer;
  if (allocate_buffer(bytes, buffer) != ncclSuccess) {
    gpu_clear_error();  // it is reported here
    throw std::bad_alloc();
  }
  check(register_buffer(comm_, bytes, buffer), "register");
  check(gpu_clear(buffer.memory, bytes), "clear");
  buffers_.push_back(buffer);
  return {static_cast<std::byte*>(buffer.memory), bytes};
}

void NcclCommunicator::copy(void* to, const void* from, std::size_t bytes) {
  if (on_host_) return host_->copy(to, from, bytes);
  check(gpu_copy(to, from, bytes), "copy");
}

}  // namespace dllaunch

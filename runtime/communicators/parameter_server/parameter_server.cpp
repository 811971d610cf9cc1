#include "runtime/communicators/parameter_server/parameter_server.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/communicators/aligned_memory.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {
namespace {

constexpr int server = 0;

class ParameterServer final : public Communicator {
 public:
  explicit ParameterServer(std::unique_ptr<Peers> world) : peers_(std::move(world)) {}

  std::string_view name() const override { return "parameter-server"; }
  int rank() const override { return peers_->rank(); }
  int size() const override { return peers_->size(); }

  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override {
    auto* const bytes = static_cast<std::byte*>(data);
    const std::size_t size = count * bytes_of(type);
    return serve(
        {bytes, size}, {bytes, size},
        [=, this](const Brought& brought) {
          reduce_all(bytes, brought, {type, op, this->size()}, count);
        },
        [=](int) { return bytes; });
  }
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override {
    auto* const bytes = static_cast<std::byte*>(data);
    const std::size_t block = count * bytes_of(type);
    return serve(
        {bytes, block * ranks()}, {at(bytes, block, rank()), block},
        [=, this](const Brought& brought) {
          reduce_all(bytes, brought, {type, op, size()}, count * ranks());
        },
        [=, this](int to) { return at(bytes, block, to); });
  }
  Pending all_gather(void* data, std::size_t count, DType type) override {
    auto* const bytes = static_cast<std::byte*>(data);
    const std::size_t block = count * bytes_of(type);
    return serve(
        {at(bytes, block, rank()), block}, {bytes, block * ranks()},
        [=, this](const Brought& brought) {
          for (int from = 1; from < size(); ++from) {
            const auto& theirs = brought[static_cast<std::size_t>(from)];
            std::copy(theirs.begin(), theirs.end(), at(bytes, block, from));
          }
        },
        [=](int) { return bytes; });
  }
  Pending broadcast(void* data, std::size_t count, DType type, int root) override {
    auto* const bytes = static_cast<std::byte*>(data);
    const std::size_t size = count * bytes_of(type);
    return serve(
        {bytes, size}, {bytes, size},
        [=](const Brought& brought) {
          const auto& theirs = brought[static_cast<std::size_t>(root)];
          std::copy(theirs.begin(), theirs.end(), bytes);  // nothing from the server itself
        },
        [=](int) { return bytes; }, root);
  }
  Pending barrier() override {
    return serve(
        {}, {}, [](const Brought&) {}, [](int) -> std::byte* { return nullptr; });
  }

  bool test(Pending pending) override {
    peers_->progress();
    return peers_->is_done(pending);
  }
  void wait(Pending pending) override { peers_->wait(pending); }

  std::span<std::byte> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }

 private:
  using Brought = std::vector<std::vector<std::byte>>;  // by rank; empty for the server itself
  using Answer = std::function<std::byte*(int to)>;

  std::size_t ranks() const { return static_cast<std::size_t>(size()); }
  static std::byte* at(std::byte* data, std::size_t block, int owner) {
    return data + static_cast<std::size_t>(owner) * block;
  }

  /// Every rank sends `up` to the server, which does `work` and sends each its answer, `down`.
  /// `only`: the one rank that sends; it needs no answer.
  Pending serve(std::span<std::byte> up, std::span<std::byte> down,
                const std::function<void(const Brought&)>& work, const Answer& answer,
                int only = -1);
  void reduce_all(std::byte* data, const Brought& brought, const Reduction& reduction,
                  std::size_t count) const;

  AlignedMemory memory_;  // before peers_, whose destructor waits for operations on it
  std::unique_ptr<Peers> peers_;
  std::uint64_t round_ = 0;
};

Pending ParameterServer::serve(std::span<std::byte> up, std::span<std::byte> down,
                               const std::function<void(const Brought&)>& work,
                               const Answer& answer, int only) {
  const std::uint64_t round = ++round_;
  if (size() == 1) return {};
  const auto brings = [only](int who) { return only < 0 || who == only; };
  const auto is_answered = [only](int who) { return who != only; };
  const Pending pending = peers_->open();
  if (rank() != server) {
    const auto receive = [=, this] {
      if (is_answered(rank())) {
        peers_->receive(pending, down.data(), down.size(), server, round);
      }
    };
    if (!brings(rank())) {
      receive();
    } else {
      // The answer may overwrite the request.
      peers_->send(pending, up.data(), up.size(), server, round);
      peers_->at_end(pending, receive);
    }
    return pending;
  }
  auto brought = std::make_shared<Brought>(ranks());
  for (int from = 1; from < size(); ++from) {
    if (!brings(from)) continue;
    auto& theirs = (*brought)[static_cast<std::size_t>(from)];
    theirs.resize(up.size());
    peers_->receive(pending, theirs.data(), theirs.size(), from, round);
  }
  const auto finish = [=, this] {
    work(*brought);
    for (int to = 1; to < size(); ++to) {
      if (is_answered(to)) peers_->send(pending, answer(to), down.size(), to, round);
    }
  };
  if (only == server) {
    finish();
  } else {
    peers_->at_end(pending, finish);
  }
  return pending;
}

void ParameterServer::reduce_all(std::byte* data, const Brought& brought,
                                 const Reduction& reduction, std::size_t count) const {
  std::vector<const std::byte*> sources = {data};
  for (std::size_t from = 1; from < brought.size(); ++from) sources.push_back(brought[from].data());
  const std::array<std::byte*, 1> result = {data};
  reduce(reduction, sources, result, count);
}

}  // namespace

std::unique_ptr<Communicator> open_parameter_server(std::unique_ptr<Peers> world) {
  return std::make_unique<ParameterServer>(std::move(world));
}

}  // namespace dllaunch

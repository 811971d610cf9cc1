#include "runtime/communicators/mpi/mpi_peers.hpp"

#include <algorithm>
#include <utility>

#include "runtime/communicators/mpi/eager_limit.hpp"
#include "runtime/communicators/mpi/library.hpp"
#include "runtime/communicators/mpi/requests.hpp"
#include "topology/discovery/network_of_node.hpp"

namespace dllaunch {
namespace {

constexpr std::uint64_t tags_of_every_mpi = 32767;  // guaranteed by the standard

/// Calls call(address, bytes) for pieces of at most `most` bytes; once if `bytes` is 0.
template <typename Address, typename Call>
void in_pieces(Address data, std::size_t bytes, std::size_t most, Call call) {
  do {
    const std::size_t piece = std::min(bytes, most);
    call(data, static_cast<int>(piece));
    data += piece;
    bytes -= piece;
  } while (bytes > 0);
}

class MpiPeers final : public Peers {
 public:
  /// Owns `comm`.
  MpiPeers(std::shared_ptr<MpiLibrary> library, MpiHandle comm)
      : library_(std::move(library)), comm_(comm) {
    must(mpi().return_errors(comm_), "MPI_Comm_set_errhandler");
    must(mpi().comm_rank(comm_, &rank_), "MPI_Comm_rank");
    must(mpi().comm_size(comm_, &size_), "MPI_Comm_size");
  }
  ~MpiPeers() override {
    while (!requests_.empty()) requests_.wait_for_some();
    mpi().comm_free(comm_);
  }

  std::string transport() const override { return library_name(mpi().library()); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Peers> split(int colour, int key) const override;
  std::unique_ptr<Peers> on_this_node() const override;

  std::size_t best_message_bytes() const override;
  void limit_messages(std::size_t bytes) override { most_bytes_ = bytes; }

  Pending open() override { return requests_.open(); }
  void send(Pending exchange, const std::byte* data, std::size_t bytes, int to,
            std::uint64_t round) override;
  void receive(Pending exchange, std::byte* data, std::size_t bytes, int from,
               std::uint64_t round) override;
  void all_reduce(Pending exchange, std::byte* data, std::size_t count, DType type,
                  ReduceOp op) override;
  void broadcast(Pending exchange, std::byte* data, std::size_t bytes, int root) override;
  void barrier(Pending exchange) override;

  void at_end(Pending exchange, std::function<void()> action) override {
    requests_.at_end(exchange, std::move(action));
  }
  void progress() override;
  bool is_done(Pending exchange) const override { return requests_.is_done(exchange); }
  void wait(Pending exchange) override {
    while (!requests_.is_done(exchange)) requests_.wait_for_some();
  }

  std::vector<std::int64_t> gather_all(std::span<const std::int64_t> words) const override;

 private:
  std::shared_ptr<MpiLibrary> library_;  // first, so that MPI outlives the members below
  MpiHandle comm_;
  int rank_ = 0;
  int size_ = 1;
  std::size_t most_bytes_ = most_message_bytes;
  unsigned idle_ = 0;  // calls of progress() with nothing in progress
  MpiReductions reductions_;
  Requests requests_;
};

std::unique_ptr<Peers> MpiPeers::split(int colour, int key) const {
  MpiHandle comm = 0;
  must(mpi().comm_split(comm_, colour, key, &comm), "MPI_Comm_split");
  return std::make_unique<MpiPeers>(library_, comm);
}

std::unique_ptr<Peers> MpiPeers::on_this_node() const {
  MpiHandle comm = 0;
  must(mpi().comm_split_by_memory(comm_, rank_, &comm), "MPI_Comm_split_type");
  return std::make_unique<MpiPeers>(library_, comm);
}

/// InfiniBand needs no limit: its adapters read a large message from the sender's memory directly.
std::size_t MpiPeers::best_message_bytes() const {
  if (network_of_node().starts_with("infiniband")) return most_message_bytes;
  return std::min(most_message_bytes, eager_limit_over_tcp(process_environment()));
}

void MpiPeers::send(Pending exchange, const std::byte* data, std::size_t bytes, int to,
                    std::uint64_t round) {
  const int tag = static_cast<int>(round % tags_of_every_mpi);
  in_pieces(data, bytes, most_bytes_, [&](const std::byte* piece, int size) {
    must(mpi().isend(piece, size, to, tag, comm_, requests_.add(exchange)), "MPI_Isend");
  });
}

void MpiPeers::receive(Pending exchange, std::byte* data, std::size_t bytes, int from,
                       std::uint64_t round) {
  const int tag = static_cast<int>(round % tags_of_every_mpi);
  in_pieces(data, bytes, most_bytes_, [&](std::byte* piece, int size) {
    must(mpi().irecv(piece, size, from, tag, comm_, requests_.add(exchange)), "MPI_Irecv");
  });
}

void MpiPeers::all_reduce(Pending exchange, std::byte* data, std::size_t count, DType type,
                          ReduceOp op) {
  in_pieces(data, count * bytes_of(type), most_message_bytes, [&](std::byte* piece, int bytes) {
    must(mpi().iallreduce(piece, bytes / static_cast<int>(bytes_of(type)),
                          reductions_.find(type, op), comm_, requests_.add(exchange)),
         "MPI_Iallreduce");
  });
}

void MpiPeers::broadcast(Pending exchange, std::byte* data, std::size_t bytes, int root) {
  in_pieces(data, bytes, most_message_bytes, [&](std::byte* piece, int size) {
    must(mpi().ibcast(piece, size, mpi().u8, root, comm_, requests_.add(exchange)), "MPI_Ibcast");
  });
}

void MpiPeers::barrier(Pending exchange) {
  must(mpi().ibarrier(comm_, requests_.add(exchange)), "MPI_Ibarrier");
}

void MpiPeers::progress() {
  constexpr unsigned idle_calls_per_look = 64;
  if (!requests_.empty()) return requests_.progress();
  if (++idle_ % idle_calls_per_look != 0) return;
  must(mpi().probe_any(comm_), "MPI_Iprobe");
}

std::vector<std::int64_t> MpiPeers::gather_all(std::span<const std::int64_t> words) const {
  std::vector<std::int64_t> all(words.size() * static_cast<std::size_t>(size_));
  const int count = static_cast<int>(words.size());
  must(mpi().allgather(words.data(), count, mpi().i64, all.data(), comm_), "MPI_Allgather");
  return all;
}

}  // namespace

Result<std::unique_ptr<Peers>> open_mpi_peers(const RankEnv& env) {
  auto library = start_mpi(env);
  if (!library) return std::move(library).error();
  MpiHandle comm = 0;
  must(mpi().comm_dup(mpi().world, &comm), "MPI_Comm_dup");
  return std::unique_ptr<Peers>(std::make_unique<MpiPeers>(*std::move(library), comm));
}

}  // namespace dllaunch

#include "runtime/communicators/mpi/peers.hpp"

#include <algorithm>

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

}  // namespace

Peers::Peers(MPI_Comm comm) : comm_(comm) {
  must(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  must(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  must(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

Peers::~Peers() {
  while (!requests_.empty()) requests_.wait_for_some();
  MPI_Comm_free(&comm_);
}

std::unique_ptr<Peers> Peers::world() {
  MPI_Comm comm = MPI_COMM_NULL;
  must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  return std::unique_ptr<Peers>(new Peers(comm));
}

std::unique_ptr<Peers> Peers::split(int colour, int key) const {
  MPI_Comm comm = MPI_COMM_NULL;
  must(MPI_Comm_split(comm_, colour, key, &comm), "MPI_Comm_split");
  return std::unique_ptr<Peers>(new Peers(comm));
}

std::unique_ptr<Peers> Peers::on_this_node() const {
  MPI_Comm comm = MPI_COMM_NULL;
  must(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &comm),
       "MPI_Comm_split_type");
  return std::unique_ptr<Peers>(new Peers(comm));
}

void Peers::send(Pending exchange, const std::byte* data, std::size_t bytes, int to,
                 std::uint64_t round) {
  const int tag = static_cast<int>(round % tags_of_every_mpi);
  in_pieces(data, bytes, most_bytes_, [&](const std::byte* piece, int size) {
    must(MPI_Isend(piece, size, MPI_BYTE, to, tag, comm_, requests_.add(exchange)), "MPI_Isend");
  });
}

void Peers::receive(Pending exchange, std::byte* data, std::size_t bytes, int from,
                    std::uint64_t round) {
  const int tag = static_cast<int>(round % tags_of_every_mpi);
  in_pieces(data, bytes, most_bytes_, [&](std::byte* piece, int size) {
    must(MPI_Irecv(piece, size, MPI_BYTE, from, tag, comm_, requests_.add(exchange)), "MPI_Irecv");
  });
}

void Peers::all_reduce(Pending exchange, std::byte* data, std::size_t count, DType type,
                       ReduceOp op) {
  in_pieces(data, count * bytes_of(type), most_bytes_of_mpi, [&](std::byte* piece, int bytes) {
    must(MPI_Iallreduce(MPI_IN_PLACE, piece, bytes / static_cast<int>(bytes_of(type)), to_mpi(type),
                        reductions_.find(type, op), comm_, requests_.add(exchange)),
         "MPI_Iallreduce");
  });
}

void Peers::broadcast(Pending exchange, std::byte* data, std::size_t bytes, int root) {
  in_pieces(data, bytes, most_bytes_of_mpi, [&](std::byte* piece, int size) {
    must(MPI_Ibcast(piece, size, MPI_BYTE, root, comm_, requests_.add(exchange)), "MPI_Ibcast");
  });
}

void Peers::barrier(Pending exchange) {
  must(MPI_Ibarrier(comm_, requests_.add(exchange)), "MPI_Ibarrier");
}

void Peers::progress() {
  constexpr unsigned idle_calls_per_look = 64;
  if (!requests_.empty()) return requests_.progress();
  if (++idle_ % idle_calls_per_look != 0) return;
  int flag = 0;
  must(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

std::vector<std::int64_t> Peers::gather_all(std::span<const std::int64_t> words) const {
  std::vector<std::int64_t> all(words.size() * static_cast<std::size_t>(size_));
  const int count = static_cast<int>(words.size());
  must(MPI_Allgather(words.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, comm_),
       "MPI_Allgather");
  return all;
}

}  // namespace dllaunch

#include "runtime/watchdog/roster.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace dllaunch {
namespace {

/// A rank's introduction, as bytes for all_gather.
struct Introduction {
  std::uint64_t host_key = 0;
  std::int64_t pid = 0;
  std::int64_t thread = 0;
  MemoryOffer memory = {};
  std::array<HostAddress, 4> addresses = {};
  std::int32_t address_count = 0;
  std::int32_t group = 0;
  std::uint16_t port = 0;
  JobToken token = {};
  std::array<char, 64> host = {};
};
static_assert(std::is_trivially_copyable_v<Introduction>);

template <typename T>
std::vector<T> gather(Communicator& communicator, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(communicator.size()));
  all[static_cast<std::size_t>(communicator.rank())] = mine;
  communicator.wait(communicator.all_gather(all.data(), sizeof(T), DType::u8));
  return all;
}

std::string read_link(const char* path) {
  std::array<char, 64> name = {};
  const ssize_t size = ::readlink(path, name.data(), name.size());
  return {name.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string boot_id() {
  std::array<char, 64> text = {};
  const FileDescriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Equal for processes that share a kernel, a clock, process ids and a network. 0: unknown.
std::uint64_t host_key(const std::string& host) {
  const std::string boot = boot_id();
  if (boot.empty()) return 0;
  const std::string all = boot + read_link("/proc/self/ns/pid") + read_link("/proc/self/ns/time") +
                          read_link("/proc/self/ns/net") + host;
  return XXH64(all.data(), all.size(), 1);
}

JobToken random_token() {
  JobToken token = {};
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    const std::int64_t now = monotonic_ns();
    std::memcpy(token.data(), &now, sizeof now);
  }
  return token;
}

Introduction describe_self(const std::string& host, std::uint16_t port) {
  Introduction self{.host_key = host_key(host),
                    .pid = ::getpid(),
                    .thread = ::syscall(SYS_gettid),
                    .port = port,
                    .token = random_token()};
  const auto addresses = host_addresses();
  const std::size_t count = std::min(addresses.size(), self.addresses.size());
  std::copy_n(addresses.begin(), count, self.addresses.begin());
  self.address_count = static_cast<std::int32_t>(count);
  host.copy(self.host.data(), self.host.size() - 1);
  return self;
}

Member member_of(const Introduction& said) {
  const auto count = static_cast<std::size_t>(said.address_count);
  return {.group = said.group,
          .host = said.host.data(),
          .pid = static_cast<pid_t>(said.pid),
          .thread = static_cast<pid_t>(said.thread),
          .port = said.port,
          .addresses = {said.addresses.begin(), said.addresses.begin() + static_cast<long>(count)}};
}

}  // namespace

class Introducer {
 public:
  Introducer(Communicator& communicator, const std::string& host, std::uint16_t port, int group)
      : communicator_(communicator) {
    Introduction self = describe_self(host, port);
    self.group = group;
    auto own = make_shared_memory(sizeof(RankRecord));
    if (own) {
      own_ = *std::move(own);
      self.memory = offer_of(own_);
    }
    said_ = gather(communicator, self);
  }

  Acquaintance finish() {
    map_neighbours();
    // No rank closes before all have opened, and a node's ranks all share or none do.
    const auto sharing = gather(communicator_, static_cast<std::uint8_t>(shares_));
    Acquaintance met;
    Roster& roster = met.roster;
    roster.rank = communicator_.rank();
    roster.token = said_[0].token;
    for (const auto& said : said_) roster.members.push_back(member_of(said));
    divide_into_nodes(sharing, roster);
    fill_board(roster, met.board);
    return met;
  }

 private:
  std::size_t self() const { return static_cast<std::size_t>(communicator_.rank()); }

  void map_neighbours() {
    const std::uint64_t key = said_[self()].host_key;
    shares_ = key != 0 && own_;
    for (std::size_t rank = 0; rank < said_.size() && shares_; ++rank) {
      if (said_[rank].host_key != key) continue;
      auto opened = open_shared_memory(said_[rank].memory);
      auto piece = opened ? MappedMemory::map(*opened, sizeof(RankRecord))
                          : Result<MappedMemory>(opened.error());
      if (piece) {
        mapped_.push_back(*std::move(piece));
      } else {
        shares_ = false;
      }
    }
  }

  /// Orders nodes by their first ranks.
  void divide_into_nodes(const std::vector<std::uint8_t>& sharing, Roster& roster) const {
    std::unordered_map<std::uint64_t, bool> all_share;
    for (std::size_t rank = 0; rank < said_.size(); ++rank) {
      auto& share = all_share.try_emplace(said_[rank].host_key, true).first->second;
      share = share && sharing[rank] != 0;
    }
    std::unordered_map<std::uint64_t, std::size_t> node_of;
    for (std::size_t rank = 0; rank < said_.size(); ++rank) {
      const std::uint64_t key = said_[rank].host_key;
      std::size_t node = roster.nodes.size();
      if (all_share[key]) node = node_of.try_emplace(key, node).first->second;
      if (node == roster.nodes.size()) roster.nodes.emplace_back();
      roster.nodes[node].push_back(static_cast<int>(rank));
      roster.members[rank].node = static_cast<int>(node);
    }
  }

  void fill_board(const Roster& roster, NodeBoard& board) {
    const auto& neighbours = roster.neighbours();
    if (shares_ && neighbours.size() == mapped_.size()) {
      for (auto& piece : mapped_) {
        board.records_.push_back(reinterpret_cast<RankRecord*>(piece.bytes().data()));
      }
      board.mapped_ = std::move(mapped_);
      board.own_ =
          static_cast<std::size_t>(std::ranges::find(neighbours, roster.rank) - neighbours.begin());
    } else {
      board.unshared_ = std::make_unique<RankRecord>();
      board.records_ = {board.unshared_.get()};
    }
  }

  Communicator& communicator_;
  FileDescriptor own_;
  std::vector<Introduction> said_;
  std::vector<MappedMemory> mapped_;  // of this node's ranks, in order
  bool shares_ = false;
};

void store_text(RankRecord& record, std::string_view text) {
  std::array<char, sizeof(record.stack_text)> bytes = {};
  text.copy(bytes.data(), bytes.size() - 1);
  for (std::size_t i = 0; i < record.stack_text.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    record.stack_text[i].store(word, std::memory_order_relaxed);
  }
}

std::string load_text(const RankRecord& record) {
  std::array<char, sizeof(record.stack_text) + 1> bytes = {};
  for (std::size_t i = 0; i < record.stack_text.size(); ++i) {
    const std::uint64_t word = record.stack_text[i].load(std::memory_order_relaxed);
    std::memcpy(bytes.data() + i * sizeof word, &word, sizeof word);
  }
  return bytes.data();
}

Acquaintance introduce(Communicator& communicator, const std::string& host, std::uint16_t port,
                       int group) {
  return Introducer(communicator, host, port, group).finish();
}

}  // namespace dllaunch

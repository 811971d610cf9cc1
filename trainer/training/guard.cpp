#include "trainer/training/guard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "support/file_text.hpp"
#include "trainer/reports/report_file.hpp"

namespace dllaunch {
namespace {

std::int64_t word(std::uint64_t bits) {
  return std::bit_cast<std::int64_t>(bits);
}

std::uint64_t bits(std::int64_t word) {
  return std::bit_cast<std::uint64_t>(word);
}

/// Prints cost more than a hundredth of a small step: only who asks for comparisons pays for them.
bool is_asked_for(const Session& session) {
  return session.config.runtime.integrity.every_steps.has_value();
}

/// Whether another start computes the same steps bit for bit, and this rank sees its own gradients.
/// The rounding errors of compression are not in a checkpoint. What ranks exchange within a step
/// carries a wrong number to the others before its print is taken.
bool repeats(const Session& session) {
  const RuntimeConfig& runtime = session.config.runtime;
  return session.executable->device_arenas() == nullptr && runtime.gradient_lag == 0 &&
         runtime.compression == Compression::none && runtime.split_dense.empty() &&
         !session.config.sync_batch_norm;
}

/// What this rank would do.
Comparing comparing_of(const Session& session) {
  if (session.replicas->size() == 1) return {};
  const auto& asked = session.config.runtime.integrity.every_steps;
  const bool on_device = session.arenas->on_device();
  // A device's memory is copied to the host to be hashed, which costs more.
  return {.every = asked.value_or(on_device ? 0 : usual_steps_between_comparisons),
          .prints = session.replicas->size() == 2 && is_asked_for(session) && repeats(session),
          .on_device = on_device};
}

bool are_of_one_host(const std::vector<int>& ranks, const std::vector<std::string>& hosts) {
  return std::ranges::all_of(ranks, [&](int rank) {
    return hosts[static_cast<std::size_t>(rank)] == hosts[static_cast<std::size_t>(ranks.front())];
  });
}

/// "rank 1 on n2", "ranks 0 on n1 and 1 on n2"
std::string named(std::span<const int> ranks, const std::vector<std::string>& hosts) {
  constexpr std::size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i) {
    const bool last = i + 1 == ranks.size();
    text += i == 0 ? "" : last ? " and " : ", ";
    text += fmt::format("{} on {}", ranks[i], hosts[static_cast<std::size_t>(ranks[i])]);
  }
  return ranks.size() > most ? fmt::format("{} and {} more", text, ranks.size() - most) : text;
}

}  // namespace

Guard::Guard(Session& session, Communicator& communicator, Activity& activity, Reports& reports,
             GuardOptions options)
    : session_(session),
      communicator_(communicator),
      activity_(activity),
      reports_(reports),
      options_(std::move(options)),
      began_(session.position.step),
      agreed_(session.position.step) {
  settle_on_comparing();
  if (prints_) take_up_suspicion();
}

/// Collective. Backends may differ between nodes, and with them what a rank would do.
void Guard::settle_on_comparing() {
  const auto own = comparing_of(session_);
  const auto words = gather({own.every, own.prints ? 1 : 0, own.on_device ? 1 : 0});
  std::vector<Comparing> ranks;
  for (std::size_t i = 0; i < words.size(); i += 3)
    ranks.push_back({words[i], words[i + 1] != 0, words[i + 2] != 0});
  const auto all = common(ranks);
  every_ = all.every;
  prints_ = all.prints;
  const auto asked = session_.config.runtime.integrity.every_steps.value_or(0);
  if (communicator_.rank() == 0 && asked > 0 && every_ == 0 && session_.replicas->size() > 1)
    options_.warn(
        "runtime.integrity.every_steps has no effect: some ranks compute on GPUs and some "
        "on CPUs, which round differently");
  if (communicator_.rank() == 0 && options_.drill && every_ == 0)
    options_.warn(fmt::format("{}: nothing compares what the ranks hold", drill_variable));
}

void Guard::before_update() {
  const auto& drill = options_.drill;
  if (!drill || drill->part != ReplicaPart::gradients || drill->rank != communicator_.rank())
    return;
  if (drill->step == session_.position.step + 1) {
    session_.arenas->flip(ReplicaPart::gradients, drill->bit);
  }
}

void Guard::end_step(double own_loss) {
  const std::int64_t step = session_.position.step;
  const auto& drill = options_.drill;
  if (drill && drill->part != ReplicaPart::gradients && drill->rank == communicator_.rank() &&
      drill->step == step) {
    session_.arenas->flip(drill->part, drill->bit);
  }
  if (!prints_) return;
  since_.push_back(std::exchange(print_, 0) ^ std::bit_cast<std::uint64_t>(own_loss));
  if (!earlier_ || deviated_ != 0 || step <= earlier_->since || step > earlier_->step) return;
  const auto& before = earlier_->prints[static_cast<std::size_t>(communicator_.rank())];
  if (before[static_cast<std::size_t>(step - earlier_->since - 1)] != since_.back())
    deviated_ = step;
}

void Guard::end() const {
  const auto& drill = options_.drill;
  const auto last = session_.position.step;
  if (!drill || communicator_.rank() != 0 || (drill->step > began_ && drill->step <= last)) return;
  const auto trained = last > began_ ? fmt::format("steps {} to {}", began_ + 1, last) : "no step";
  options_.warn(fmt::format("{}: no bit was flipped at step {}: this start trained {}",
                            drill_variable, drill->step, trained));
}

bool Guard::due() const {
  if (every_ == 0) return false;
  const std::int64_t step = session_.position.step;
  return step % every_ == 0 || (earlier_ && earlier_->step == step) ||
         since_.size() >= most_printed_steps(static_cast<std::size_t>(communicator_.size()));
}

std::vector<std::int64_t> Guard::gather(const std::vector<std::int64_t>& own) {
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<std::int64_t> all(ranks * own.size());
  std::ranges::copy(own,
                    all.begin() + static_cast<std::ptrdiff_t>(
                                      static_cast<std::size_t>(communicator_.rank()) * own.size()));
  communicator_.wait(communicator_.all_gather(all.data(), own.size(), DType::i64));
  return all;
}

Result<Ok> Guard::compare() {
  const std::int64_t step = session_.position.step;
  if (every_ == 0 || std::exchange(compared_, step) == step) return Ok{};
  const RankPhase phase = activity_.phase();
  const Digest own = session_.arenas->digest(session_.config.runtime.gradient_lag == 0);
  activity_.enter(RankPhase::reduce);
  const auto words = gather({word(own.weights), word(own.states), word(own.gradients), deviated_});
  activity_.enter(phase);
  std::vector<Digest> digests;
  std::vector<std::int64_t> deviated;
  for (std::size_t i = 0; i < words.size(); i += 4) {
    digests.push_back({bits(words[i]), bits(words[i + 1]), bits(words[i + 2])});
    deviated.push_back(words[i + 3]);
  }
  const ReplicaVerdict verdict = judge(digests, session_.place().stages);
  agrees_ = verdict.agreed;
  if (!agrees_) return disagree(verdict, deviated, digests);
  agreed_ = step;
  since_.clear();
  if (earlier_ && step >= earlier_->step) return settle_suspicion(deviated, digests);
  return Ok{};
}

/// The steps of a suspicion are computed again, and now the ranks agree.
Result<Ok> Guard::settle_suspicion(std::span<const std::int64_t> deviated,
                                   std::span<const Digest> digests) {
  const int groups = session_.place().stages;
  const ReplicaVerdict then = judge(earlier_->digests, groups);
  auto wrong = judge_again(*earlier_, deviated, digests, groups);
  const auto hosts = earlier_->hosts;
  const auto since = earlier_->since;
  forget_suspicion();
  if (!wrong.empty()) return tell(then, "recomputed", std::move(wrong), hosts, since);
  // Only said: what the ranks hold now is right.
  tell(then, "unknown", {}, hosts, since);
  return Ok{};
}

Result<Ok> Guard::disagree(const ReplicaVerdict& verdict, std::span<const std::int64_t> deviated,
                           std::span<const Digest> digests) {
  auto hosts = gather_hosts();
  if (!verdict.wrong.empty()) {
    // Faults of several nodes at once have one cause, which is not their hardware.
    const bool together = are_of_one_host(verdict.wrong, hosts);
    return tell(verdict, together ? "majority" : "unknown",
                together ? verdict.wrong : std::vector<int>(), hosts, agreed_);
  }
  if (earlier_) {
    const bool same_step = earlier_->step == session_.position.step;
    auto wrong = judge_again(*earlier_, deviated, same_step ? digests : std::span<const Digest>(),
                             session_.place().stages);
    if (!wrong.empty()) {
      const auto since = earlier_->since;
      forget_suspicion();
      return tell(verdict, "recomputed", std::move(wrong), hosts, since);
    }
  }
  if (!prints_) return tell(verdict, "unknown", {}, hosts, agreed_);
  const Suspicion suspicion = suspicion_now(digests, hosts);
  if (communicator_.rank() == 0) {
    auto kept = replace_file(file(), text_of(suspicion));
    if (!kept) options_.warn(kept.error().what);
  }
  return tell(verdict, "pending", {}, hosts, agreed_);
}

/// Collective.
Suspicion Guard::suspicion_now(std::span<const Digest> digests, std::vector<std::string> hosts) {
  Suspicion now{.since = agreed_,
                .step = session_.position.step,
                .hosts = std::move(hosts),
                .digests = {digests.begin(), digests.end()}};
  std::vector<std::int64_t> own(since_.size());
  std::ranges::transform(since_, own.begin(), word);
  const auto all = gather(own);
  for (std::size_t first = 0; first < all.size(); first += own.size()) {
    auto& prints = now.prints.emplace_back(own.size());
    std::transform(all.begin() + static_cast<std::ptrdiff_t>(first),
                   all.begin() + static_cast<std::ptrdiff_t>(first + own.size()), prints.begin(),
                   bits);
  }
  return now;
}

Error Guard::tell(const ReplicaVerdict& verdict, std::string_view how, std::vector<int> ranks,
                  const std::vector<std::string>& hosts, std::int64_t since) {
  CorruptedEvent event{.step = session_.position.step, .since = since, .how = std::string(how)};
  if (verdict.weights) event.what.emplace_back("weights");
  if (verdict.states) event.what.emplace_back("states");
  if (verdict.gradients) event.what.emplace_back("gradients");
  for (const int rank : ranks) event.hosts.push_back(hosts[static_cast<std::size_t>(rank)]);
  const std::string parts = words_of(verdict);
  const std::string apart = named(verdict.apart, hosts);
  if (how == "majority") {
    const bool one = ranks.size() == 1;
    event.line = fmt::format(
        "step {}: {} {} other {} than {} replicas: wrong numbers were computed or stored there",
        event.step, named(ranks, hosts), one ? "has" : "have", parts, one ? "its" : "their");
  } else if (how == "recomputed") {
    event.line = fmt::format(
        "step {}: computed again, {} has other numbers than before, when {} "
        "differed: its numbers were wrong",
        event.step, named(ranks, hosts), parts);
  } else if (how == "pending") {
    event.line = fmt::format(
        "step {}: {} differ on {}, and there is no majority: the steps from {} "
        "on are to be computed again, to find whose are wrong",
        event.step, parts, apart, since + 1);
  } else {
    event.line = fmt::format("step {}: {} {} on {}; whose were wrong cannot be told", event.step,
                             parts, agrees_here() ? "differed" : "differ", apart);
  }
  event.ranks = std::move(ranks);
  reports_.corrupted(event);
  const bool first = communicator_.rank() == 0;
  std::string advice =
      "start it again, without that node where one is named: it resumes from the last checkpoint, "
      "on which all ranks agreed";
  if (how == "unknown" && !is_asked_for(session_))
    advice += fmt::format("; runtime.integrity.every_steps: {} finds out whose are wrong", every_);
  if (first && how == "unknown" && agrees_here()) options_.warn(event.line);
  return {ErrorKind::unavailable, first ? event.line : "", first ? advice : ""};
}

std::vector<std::string> Guard::gather_hosts() {
  constexpr std::size_t room = 64;
  std::array<char, room> own{};
  std::memcpy(own.data(), options_.host.data(), std::min(options_.host.size(), room - 1));
  std::vector<std::int64_t> words(room / sizeof(std::int64_t));
  std::memcpy(words.data(), own.data(), room);
  const auto all = gather(words);
  std::vector<std::string> hosts;
  for (std::size_t first = 0; first < all.size(); first += words.size()) {
    hosts.emplace_back(reinterpret_cast<const char*>(&all[first]));
  }
  return hosts;
}

/// Collective. Takes up what an earlier start has left, if this one computes the same steps on the
/// same nodes.
void Guard::take_up_suspicion() {
  const int ranks = communicator_.size();
  std::optional<Suspicion> found;
  std::int64_t length = 0;
  std::string text;
  if (communicator_.rank() == 0) {
    auto stored = read_file_text(file().string(), FileLinks::refused, most_suspicion_bytes);
    std::error_code unknown;
    // What is there and cannot be read is refused below, as no document.
    if (stored || std::filesystem::exists(file(), unknown)) text = stored ? *stored : "?";
    length = std::ssize(text);
  }
  communicator_.wait(communicator_.broadcast(&length, 1, DType::i64, /*root=*/0));
  if (length == 0) return;
  text.resize(static_cast<std::size_t>(length));
  communicator_.wait(communicator_.broadcast(text.data(), text.size(), DType::u8, /*root=*/0));
  auto read = read_suspicion(text);
  const auto hosts = gather_hosts();
  const bool same = read && std::ssize(read->hosts) == ranks && read->hosts == hosts;
  if (same && session_.position.step <= read->since) {
    earlier_ = *std::move(read);
    return;
  }
  if (communicator_.rank() == 0) {
    options_.warn(fmt::format(
        "{}: {}; whose numbers were wrong cannot be told", file().string(),
        read ? "the ranks run elsewhere now, or the steps are past" : read.error().what));
  }
  forget_suspicion();
}

void Guard::forget_suspicion() {
  earlier_.reset();
  deviated_ = 0;
  std::error_code unimportant;
  if (communicator_.rank() == 0) std::filesystem::remove(file(), unimportant);
}

}  // namespace dllaunch

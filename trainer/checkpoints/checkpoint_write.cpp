#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/core.h>

#include "support/json.hpp"
#include "trainer/checkpoints/checkpoint.hpp"
#include "trainer/checkpoints/checkpoint_place.hpp"
#include "trainer/checkpoints/checkpoint_retention.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

Error refused(const fs::path& path, int why) {
  return {ErrorKind::unavailable,
          fmt::format("cannot write {}: {}", path.string(), std::strerror(why)),
          "free disk space or make the folder writable, then run again: it resumes"};
}

/// Closes the file on every path.
struct OpenFile {
  int descriptor;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

Result<Ok> write_all(int descriptor, Bytes bytes, const fs::path& file) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return refused(file, count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return Ok{};
}

struct Stored {
  std::string checksum;
  std::uint64_t bytes = 0;
};

/// Granularity of the rate limit; small enough to hash from the cache.
constexpr std::size_t most_at_once = 1 << 20;

/// Writes the pieces in order and returns once they are on disk.
Result<Stored> write_durably(const fs::path& file, const std::vector<Bytes>& pieces,
                             const OnWritten& on_written) {
  const OpenFile out{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (out.descriptor < 0) return refused(file, errno);
  Stored stored;
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> hash(XXH64_createState(),
                                                                        &XXH64_freeState);
  XXH64_reset(hash.get(), 0);
  for (Bytes piece : pieces) {
    while (!piece.empty()) {
      const Bytes some = piece.first(std::min(piece.size(), most_at_once));
      auto written = write_all(out.descriptor, some, file);
      if (!written) return std::move(written).error();
      XXH64_update(hash.get(), some.data(), some.size());
      on_written(some.size());
      piece = piece.subspan(some.size());
    }
  }
  if (::fsync(out.descriptor) != 0) return refused(file, errno);
  for (const Bytes piece : pieces) stored.bytes += piece.size();
  stored.checksum = fmt::format("{:016x}", XXH64_digest(hash.get()));
  return stored;
}

/// Creates the missing directories of a path and syncs each parent: otherwise a power failure could
/// lose a directory with its content.
Result<Ok> create_durably(const fs::path& folder) {
  std::error_code failed;
  if (folder.empty() || fs::exists(folder, failed)) return Ok{};
  const fs::path absolute = fs::absolute(folder, failed);
  const fs::path parent = absolute.parent_path();
  if (auto created = create_durably(parent); !created) return created;
  if (fs::create_directory(absolute, failed); failed) return refused(folder, failed.value());
  return sync_directory(parent);
}

Result<Stored> write_tensors(const fs::path& file, TensorFile& tensors,
                             const OnWritten& on_written) {
  const std::string header = render_safetensors_header(tensors);
  std::vector<Bytes> pieces{std::as_bytes(std::span(header))};
  for (const auto& tensor : tensors.tensors) pieces.emplace_back(tensor.data);
  return write_durably(file, pieces, on_written);
}

std::string render_state(const Checkpoint& checkpoint, const Stored& model,
                         const Stored& optimizer) {
  const TrainPosition& at = checkpoint.position;
  Json state;
  state["format"] = 1;
  state["model"] = checkpoint.model;
  state["optimizer"] = checkpoint.optimizer;
  state["epoch"] = at.epoch;
  state["step"] = at.step;
  state["lr"] = at.lr;
  if (at.loss_scale.factor != 0) {
    state["loss_scale"] = {{"factor", at.loss_scale.factor},
                           {"good_steps", at.loss_scale.good_steps}};
  }
  state["sampler"] = {{"epoch", at.epoch}, {"position", at.images}};
  state["epoch_sums"] = {{"loss", at.loss_sum}, {"correct", at.correct}};
  state["rng"] = {{"seed", checkpoint.seed}};
  state["ranks"] = checkpoint.ranks;
  state["global_batch"] = checkpoint.global_batch;
  state["class_names"] = checkpoint.class_names;
  state["normalization"] = {{"mean", checkpoint.normalization.mean},
                            {"std", checkpoint.normalization.std}};
  if (!checkpoint.metrics.empty()) state["metrics"] = checkpoint.metrics;
  state["bytes"] = {{"model.safetensors", model.bytes}, {"optimizer.safetensors", optimizer.bytes}};
  state["checksums"] = {{"algorithm", "xxh64"},
                        {"model.safetensors", model.checksum},
                        {"optimizer.safetensors", optimizer.checksum},
                        {"state.json", no_checksum}};
  // The name of a class is that of a folder, which may have any bytes.
  std::string text =
      state.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
  const std::size_t own = text.rfind(checksum_of_itself) + checksum_of_itself.size();
  return text.replace(own, no_checksum.size(), checksum(std::as_bytes(std::span(text))));
}

Result<std::uint64_t> write_files(const fs::path& directory, Checkpoint& checkpoint,
                                  const OnWritten& on_written) {
  auto model = write_tensors(directory / "model.safetensors", checkpoint.weights, on_written);
  if (!model) return std::move(model).error();
  auto optimizer =
      write_tensors(directory / "optimizer.safetensors", checkpoint.states, on_written);
  if (!optimizer) return std::move(optimizer).error();
  const std::string text = render_state(checkpoint, *model, *optimizer);
  auto state =
      write_durably(directory / "state.json", {std::as_bytes(std::span(text))}, on_written);
  if (!state) return std::move(state).error();
  if (auto synced = sync_directory(directory); !synced) return std::move(synced).error();
  return model->bytes + optimizer->bytes + state->bytes;
}

/// Writes and renames, without the retention. Changes no final name if `right` refuses.
Result<std::uint64_t> write_and_place(const fs::path& temporary, const fs::path& final,
                                      Checkpoint& checkpoint, const OnWritten& on_written,
                                      const WriteRight& right) {
  std::error_code ignored;
  auto bytes = write_files(temporary, checkpoint, on_written);
  // If another incarnation takes over between this check and the rename, it finds one more valid
  // checkpoint of its own run, or a valid one replaced by a valid one. It loses nothing.
  auto ours = bytes ? right.check() : Result<Ok>(Ok{});
  if (!bytes || !ours) fs::remove_all(temporary, ignored);
  if (!bytes) return bytes;
  if (!ours) return std::move(ours).error();
  if (auto placed = put_in_place(temporary, final); !placed) return std::move(placed).error();
  if (auto synced = sync_directory(final.parent_path()); !synced) return std::move(synced).error();
  return bytes;
}

}  // namespace

std::string checksum(Bytes content) {
  return fmt::format("{:016x}", XXH64(content.data(), content.size(), 0));
}

void remove_leftovers(const fs::path& folder, std::int64_t fencing_token) {
  std::error_code failed;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (is_leftover(name, fencing_token)) names.push_back(name);
  }
  // One may have just been replaced by a checkpoint. Until that is on disk, a power failure would
  // give it its final name back.
  if (names.empty() || !sync_directory(folder)) return;
  for (const auto& name : names) {
    // A previous incarnation that is still running may be renaming it right now. After this rename
    // it either has all of it or finds it gone.
    const fs::path aside = folder / temporary_name(fencing_token, "gone");
    fs::remove_all(aside, failed);
    fs::rename(folder / name, aside, failed);
    fs::remove_all(aside, failed);
  }
}

Result<WrittenCheckpoint> write_checkpoint(const fs::path& folder, Checkpoint checkpoint,
                                           const Retention& retention, const OnWritten& on_written,
                                           const WriteRight& right) {
  const std::string name = fmt::format("step-{:08}", checkpoint.position.step);
  const fs::path temporary = folder / temporary_name(right.fencing_token, name);
  const fs::path final = folder / name;
  if (auto ours = right.check(); !ours) return std::move(ours).error();
  remove_leftovers(folder, right.fencing_token);
  if (auto created = create_durably(folder); !created) return std::move(created).error();
  std::error_code failed;
  fs::create_directory(temporary, failed);
  if (failed) return refused(temporary, failed.value());

  auto bytes = write_and_place(temporary, final, checkpoint, on_written, right);
  if (!bytes) return std::move(bytes).error();
  if (auto ours = right.check(); !ours) return std::move(ours).error();
  const auto best = prune_checkpoints(folder, final, retention, right.fencing_token);
  return WrittenCheckpoint{.path = final, .bytes = *bytes, .best = best == final};
}

}  // namespace dllaunch

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trainer/checkpoint.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

Error refused(const fs::path& path, int why) {
  return {ErrorKind::unavailable,
          fmt::format("cannot write {}: {}", path.string(), std::strerror(why)),
          "make room or write access there, then run again: it resumes"};
}

/// Closes on the way out, whichever way that is.
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

/// Writes the pieces one after the other and returns once they are on the disk.
Result<Stored> write_durably(const fs::path& file, const std::vector<Bytes>& pieces) {
  const OpenFile out{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (out.descriptor < 0) return refused(file, errno);
  Stored stored;
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> hash(XXH64_createState(),
                                                                        &XXH64_freeState);
  XXH64_reset(hash.get(), 0);
  for (const Bytes piece : pieces) {
    if (auto written = write_all(out.descriptor, piece, file); !written) {
      return std::move(written).error();
    }
    XXH64_update(hash.get(), piece.data(), piece.size());
    stored.bytes += piece.size();
  }
  if (::fsync(out.descriptor) != 0) return refused(file, errno);
  stored.checksum = fmt::format("{:016x}", XXH64_digest(hash.get()));
  return stored;
}

/// Makes the names in a directory as durable as the files behind them.
Result<Ok> sync_directory(const fs::path& directory) {
  const OpenFile opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.descriptor < 0) return refused(directory, errno);
  // Some network file systems cannot sync a directory and need not.
  if (::fsync(opened.descriptor) != 0 && errno != EINVAL) return refused(directory, errno);
  return Ok{};
}

Result<Stored> write_tensors(const fs::path& file, TensorFile& tensors) {
  const std::string header = render_safetensors_header(tensors);
  std::vector<Bytes> pieces{std::as_bytes(std::span(header))};
  for (const auto& tensor : tensors.tensors) pieces.emplace_back(tensor.data);
  return write_durably(file, pieces);
}

std::string render_state(const Checkpoint& checkpoint, const Stored& model,
                         const Stored& optimizer) {
  const TrainPosition& at = checkpoint.position;
  nlohmann::ordered_json state;
  state["format"] = 1;
  state["model"] = checkpoint.model;
  state["optimizer"] = checkpoint.optimizer;
  state["epoch"] = at.epoch;
  state["step"] = at.step;
  state["lr"] = at.lr;
  state["sampler"] = {{"epoch", at.epoch}, {"position", at.images}};
  state["epoch_sums"] = {{"loss", at.loss_sum}, {"correct", at.correct}};
  state["rng"] = {{"seed", checkpoint.seed}};
  state["ranks"] = checkpoint.ranks;
  state["global_batch"] = checkpoint.global_batch;
  state["class_names"] = checkpoint.class_names;
  state["normalization"] = {{"mean", checkpoint.normalization.mean},
                            {"std", checkpoint.normalization.std}};
  state["bytes"] = {{"model.safetensors", model.bytes}, {"optimizer.safetensors", optimizer.bytes}};
  state["checksums"] = {{"algorithm", "xxh64"},
                        {"model.safetensors", model.checksum},
                        {"optimizer.safetensors", optimizer.checksum},
                        {"state.json", no_checksum}};
  std::string text = state.dump(2) + "\n";
  const std::size_t own = text.rfind(checksum_of_itself) + checksum_of_itself.size();
  return text.replace(own, no_checksum.size(), checksum(std::as_bytes(std::span(text))));
}

Result<std::uint64_t> write_files(const fs::path& directory, Checkpoint& checkpoint) {
  auto model = write_tensors(directory / "model.safetensors", checkpoint.weights);
  if (!model) return std::move(model).error();
  auto optimizer = write_tensors(directory / "optimizer.safetensors", checkpoint.states);
  if (!optimizer) return std::move(optimizer).error();
  const std::string text = render_state(checkpoint, *model, *optimizer);
  auto state = write_durably(directory / "state.json", {std::as_bytes(std::span(text))});
  if (!state) return std::move(state).error();
  if (auto synced = sync_directory(directory); !synced) return std::move(synced).error();
  return model->bytes + optimizer->bytes + state->bytes;
}

/// A directory with a final name must be complete, so it loses that name before its files.
void discard(const fs::path& directory) {
  std::error_code ignored;
  const fs::path aside = directory.parent_path() / (".tmp-old-" + directory.filename().string());
  fs::remove_all(aside, ignored);
  fs::rename(directory, aside, ignored);
  fs::remove_all(aside, ignored);
}

void prune(const fs::path& folder, const fs::path& newest, int keep) {
  int kept = 0;
  for (const auto& path : list_checkpoints(folder)) {
    // What lies beyond the newest is from a future that was given up; it is not ours to count.
    if (kept == 0 && path.filename() != newest.filename()) continue;
    if (++kept > keep) discard(path);
  }
}

}  // namespace

std::string checksum(Bytes content) {
  return fmt::format("{:016x}", XXH64(content.data(), content.size(), 0));
}

void remove_leftovers(const fs::path& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::error_code ignored;
    if (entry.path().filename().string().rfind(".tmp-", 0) == 0) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

Result<WrittenCheckpoint> write_checkpoint(const fs::path& folder, Checkpoint checkpoint,
                                           int keep) {
  const std::string name = fmt::format("step-{:08}", checkpoint.position.step);
  const fs::path temporary = folder / (".tmp-" + name);
  const fs::path final = folder / name;
  std::error_code failed;
  fs::remove_all(temporary, failed);
  fs::create_directories(temporary, failed);
  if (failed) return refused(temporary, failed.value());

  auto bytes = write_files(temporary, checkpoint);
  if (!bytes) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    return std::move(bytes).error();
  }
  if (fs::exists(final, failed)) discard(final);
  fs::rename(temporary, final, failed);
  if (failed) return refused(final, failed.value());
  if (auto synced = sync_directory(folder); !synced) return std::move(synced).error();
  prune(folder, final, keep);
  return WrittenCheckpoint{final, *bytes};
}

}  // namespace dllaunch

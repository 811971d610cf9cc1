#include "launcher/staging/fetch_data.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours transfer_limit{24};
constexpr std::chrono::hours local_limit{1};

std::vector<PublishedFile> idx_files(std::string train_images, std::string train_labels,
                                     std::string test_images, std::string test_labels) {
  return {{"train-images-idx3-ubyte.gz", std::move(train_images), ""},
          {"train-labels-idx1-ubyte.gz", std::move(train_labels), ""},
          {"t10k-images-idx3-ubyte.gz", std::move(test_images), ""},
          {"t10k-labels-idx1-ubyte.gz", std::move(test_labels), ""}};
}

std::vector<std::string> cifar10_members() {
  return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
          "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of("\r\n");
  if (end == std::string::npos) return "";
  const auto begin = text.find_last_of("\r\n", end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

Error cannot(const std::string& what, const fs::path& path, const std::error_code& why) {
  return {ErrorKind::unavailable,
          fmt::format("cannot {} {}: {}", what, path.string(), why.message()), ""};
}

double megabytes(std::uintmax_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

std::uintmax_t bytes_in(const fs::path& file) {
  std::error_code absent;
  const auto bytes = fs::file_size(file, absent);
  return absent ? 0 : bytes;
}

/// Calls a function periodically from its own thread.
class Ticker {
 public:
  Ticker(std::chrono::milliseconds every, std::function<void()> call)
      : calling_([this, every, call = std::move(call)] {
          std::unique_lock lock(mutex_);
          while (!ended_.wait_for(lock, every, [this] { return over_; })) call();
        }) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_one();
    calling_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread calling_;
};

class Fetch {
 public:
  Fetch(System& system, const PublishedSet& set, const FetchOptions& options)
      : system_(system),
        url_(options.mirror.empty() ? set.url : options.mirror),
        folder_(options.folder),
        told_every_(options.told_every) {
    while (url_.ends_with('/')) url_.pop_back();
  }

  Result<Ok> get(const PublishedFile& file) {
    const fs::path partial = folder_ / ("." + file.name + ".partial");
    auto present = is_present(file);
    if (!present) return std::move(present).error();
    if (*present) {
      tell(fmt::format("{}: already present\n", target_of(file).string()));
      return Ok{};
    }
    auto whole = holds(partial, file.md5);
    if (!whole) return std::move(whole).error();
    if (!*whole) {
      std::error_code ignored;
      const bool continued = fs::exists(partial, ignored);
      if (auto got = transfer(file, partial); !got) return got;
      auto sound = check(file, partial);
      if (!sound && continued) {  // the partial file may be from another version
        if (auto got = transfer(file, partial); !got) return got;
        sound = check(file, partial);
      }
      if (!sound) return sound;
    }
    return file.unpacks_to.empty() ? rename(partial, folder_ / file.name) : unpack(file, partial);
  }

 private:
  fs::path target_of(const PublishedFile& file) const {
    return folder_ / (file.unpacks_to.empty() ? file.name : file.unpacks_to);
  }

  Result<bool> is_present(const PublishedFile& file) {
    std::error_code ignored;
    const fs::path target = target_of(file);
    if (file.unpacks_to.empty()) return holds(target, file.md5);
    if (!fs::is_directory(target, ignored)) return false;
    for (const auto& member : file.members) {
      if (fs::is_regular_file(target / member, ignored)) continue;
      return Error{ErrorKind::bad_request,
                   fmt::format("{} exists but lacks {}", target.string(), member),
                   "remove the folder and run the command again"};
    }
    return true;
  }

  Result<std::string> md5_of(const fs::path& path) {
    auto sum = system_.run({"md5sum", path.string()}, local_limit);
    if (!sum) return std::move(sum).error();
    if (sum->exit_code != 0) return Error{ErrorKind::unavailable, last_line(sum->err), ""};
    // md5sum prefixes the line with a backslash if the name contains one.
    return sum->out.substr(sum->out.starts_with('\\') ? 1 : 0, 32);
  }

  Result<bool> holds(const fs::path& path, const std::string& md5) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return false;
    auto found = md5_of(path);
    if (!found) return std::move(found).error();
    return *found == md5;
  }

  Result<Ok> transfer(const PublishedFile& file, const fs::path& partial) {
    const std::string from = url_ + "/" + file.name;
    std::error_code ignored;
    const bool continues = fs::exists(partial, ignored);
    tell(fmt::format("{} {}\n", continues ? "resuming" : "fetching", from));
    auto ended = curl(from, partial);
    constexpr int no_ranges = 33;
    constexpr int no_such_range = 36;  // the local file is longer than the remote one
    if (ended && continues &&
        (ended->exit_code == no_ranges || ended->exit_code == no_such_range)) {
      fs::remove(partial, ignored);
      ended = curl(from, partial);
    }
    if (!ended) return std::move(ended).error();
    if (ended->exit_code == 0) return Ok{};
    return failed(file, from, partial, *ended);
  }

  Result<CommandOutput> curl(const std::string& from, const fs::path& to) {
    const auto start = std::chrono::steady_clock::now();
    const Ticker progress(told_every_, [this, &from, &to, start, before = bytes_in(to)] {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      const double now = megabytes(bytes_in(to));
      tell(fmt::format("{}: {:.1f} MB, {:.2f} MB/s\n", fs::path(from).filename().string(), now,
                       std::max(0.0, now - megabytes(before)) / seconds.count()));
    });
    return system_.run({"curl", "--fail", "--location", "--silent", "--show-error", "--globoff",
                        "--retry", "3", "--connect-timeout", "30", "--speed-limit", "1",
                        "--speed-time", "60", "--continue-at", "-", "--output", to.string(), from},
                       transfer_limit);
  }

  Error failed(const PublishedFile& file, const std::string& from, const fs::path& partial,
               const CommandOutput& ended) {
    const std::string why = fmt::format("{}: {}", from, last_line(ended.err));
    const std::string again = "the same command resumes the download";
    switch (ended.exit_code) {
      case 28:  // time
        if (bytes_in(partial) > 0) return {ErrorKind::unavailable, why, again};
        [[fallthrough]];
      case 5:   // proxy
      case 6:   // name
      case 7:   // connection
      case 35:  // TLS
        return {
            ErrorKind::unavailable, "cannot fetch " + why,
            fmt::format("without a network: download it elsewhere (MD5 {}), put it into a folder "
                        "and use --from file:///FOLDER",
                        file.md5)};
      case 18:  // a part
      case 52:  // no answer
      case 55:  // sending
      case 56:  // receiving
      case 92:  // HTTP/2
        return {ErrorKind::unavailable, why, again};
      case 22:  // HTTP error
        return {ErrorKind::unavailable, why, "try another mirror with --from, or try later"};
      case 23:  // writing
        return {ErrorKind::unavailable, why, "free disk space; " + again};
      case 1:   // protocol
      case 3:   // form
      case 37:  // file:
        return {ErrorKind::bad_request, why,
                fmt::format("--from needs the URL of a folder with {}: https://... or "
                            "file:///FOLDER",
                            file.name)};
      default:
        return {ErrorKind::unavailable, why, ""};
    }
  }

  Result<Ok> check(const PublishedFile& file, const fs::path& partial) {
    auto found = md5_of(partial);
    if (!found) return std::move(found).error();
    if (*found == file.md5) return Ok{};
    std::error_code ignored;
    fs::remove(partial, ignored);
    return Error{
        ErrorKind::bad_request,
        fmt::format("{}/{} has MD5 {}, the published one is {}", url_, file.name, *found, file.md5),
        "it was removed; try again, or another mirror with --from"};
  }

  Result<Ok> unpack(const PublishedFile& file, const fs::path& archive) {
    const fs::path aside = folder_ / ("." + file.name + ".unpacked");
    std::error_code failed;
    fs::remove_all(aside, failed);
    fs::create_directories(aside, failed);
    if (failed) return cannot("make", aside, failed);
    auto ended = system_.run({"tar", "-xzf", archive.string(), "-C", aside.string()}, local_limit);
    if (!ended) return std::move(ended).error();
    if (ended->exit_code != 0) {
      fs::remove_all(aside, failed);
      return Error{ErrorKind::unavailable,
                   fmt::format("cannot unpack {}: {}", file.name, last_line(ended->err)), ""};
    }
    if (auto moved = rename(aside / file.unpacks_to, target_of(file)); !moved) return moved;
    fs::remove_all(aside, failed);
    fs::remove(archive, failed);
    return Ok{};
  }

  static Result<Ok> rename(const fs::path& from, const fs::path& to) {
    std::error_code failed;
    fs::rename(from, to, failed);
    if (failed) return cannot("make", to, failed);
    return Ok{};
  }

  void tell(const std::string& text) {
    if (system_.console().verbosity >= 0) system_.log(text);
  }

  System& system_;
  std::string url_;
  fs::path folder_;
  std::chrono::milliseconds told_every_;
};

}  // namespace

const std::vector<PublishedSet>& published_sets() {
  // MD5 sums as published: by yann.lecun.com's mirrors, the README of
  // zalandoresearch/fashion-mnist, and the CIFAR page.
  static const std::vector<PublishedSet> sets{
      {"mnist", "https://ossci-datasets.s3.amazonaws.com/mnist",
       idx_files("f68b3c2dcbeaaa9fbdd348bbdeb94873", "d53e105ee54ea40749a09fcbcd1e9432",
                 "9fb629c4189551a2d022fa330f9573f3", "ec29112dd5afa0611ce80d1b7f02629c")},
      {"fashion-mnist", "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
       idx_files("8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe",
                 "bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310")},
      {"cifar10",
       "https://www.cs.toronto.edu/~kriz",
       {{"cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", "cifar-10-batches-bin",
         cifar10_members()}}},
      {"cifar100",
       "https://www.cs.toronto.edu/~kriz",
       {{"cifar-100-binary.tar.gz",
         "03b5dce01913d631647c71ecec9e9cb8",
         "cifar-100-binary",
         {"train.bin", "test.bin"}}}}};
  return sets;
}

Result<Ok> fetch_data(System& system, const PublishedSet& set, const FetchOptions& options) {
  std::vector<std::string> programs{"curl", "md5sum"};
  if (!set.files[0].unpacks_to.empty()) programs.insert(programs.end(), {"tar", "gzip"});
  for (const auto& program : programs) {
    if (!system.find_program(program)) {
      return Error{ErrorKind::unavailable, fmt::format("{} is not installed", program),
                   fmt::format("apt-get install {}", program)};
    }
  }
  std::error_code failed;
  fs::create_directories(options.folder, failed);
  if (failed) return cannot("make", options.folder, failed);
  Fetch fetch(system, set, options);
  for (const auto& file : set.files) {
    if (auto got = fetch.get(file); !got) return got;
  }
  return Ok{};
}

}  // namespace dllaunch

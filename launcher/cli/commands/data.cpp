// Fetches published data sets and generates synthetic ones.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/base/nearest_name.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/staging/fetch_data.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view data_examples =
    R"(  dllaunch data get cifar10                      into ./cifar10; resumes if interrupted
  dllaunch data get mnist --to /scratch/mnist
  dllaunch data get cifar100 --from file:///usb  files downloaded elsewhere
  dllaunch data make synthetic --images 50000 --size 224 --classes 100 --to made
)";

struct DataArguments {
  std::string what;
  std::string name;
  std::string to;
  std::string from;
  std::optional<std::int64_t> images;
  std::optional<int> size;
  std::optional<int> classes;
  std::optional<int> channels;
};

Result<int> get(const DataArguments& options, System& system) {
  if (options.images || options.size || options.classes || options.channels) {
    return Error{ErrorKind::bad_request,
                 "data get: --images, --size, --classes and --channels are options of data make",
                 fmt::format("dllaunch data get {}", options.name)};
  }
  std::vector<std::string> known;
  for (const auto& set : published_sets()) {
    if (set.name != options.name) {
      known.push_back(set.name);
      continue;
    }
    const std::string folder = options.to.empty() ? options.name : options.to;
    auto got = fetch_data(system, set, {.folder = folder, .mirror = options.from});
    if (!got) return std::move(got).error();
    system.print(fmt::format("dataset: {{kind: {}, path: {}}}\n", set.name, folder));
    return exit_code::success;
  }
  const auto nearest = nearest_name(options.name, known);
  return Error{ErrorKind::bad_request,
               fmt::format("no published data set '{}'{}", options.name,
                           nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""),
               fmt::format("use one of: {}", fmt::join(known, ", "))};
}

/// Replaces this process by the trainer, which generates the images.
Result<int> make(const DataArguments& options, const System& system) {
  if (!options.from.empty()) {
    return Error{ErrorKind::bad_request, "data make: --from is an option of data get",
                 "dllaunch data make synthetic"};
  }
  if (options.name != "synthetic") {
    return Error{ErrorKind::bad_request, fmt::format("cannot make '{}'", options.name),
                 "dllaunch data make synthetic"};
  }
  auto paths = program_paths("");
  if (!paths) return std::move(paths).error();
  const std::string folder = options.to.empty() ? "synthetic" : options.to;
  std::vector<std::string> arguments{paths->dltrain,
                                     "--make-data",
                                     folder,
                                     std::to_string(options.images.value_or(1024)),
                                     std::to_string(options.size.value_or(28)),
                                     std::to_string(options.classes.value_or(10)),
                                     std::to_string(options.channels.value_or(3))};
  if (system.console().verbosity < 0) arguments.emplace_back("quiet");
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return Error{ErrorKind::unavailable, fmt::format("{}: {}", arguments[0], std::strerror(errno)),
               ""};
}

Result<int> data(const DataArguments& options, System& system) {
  if (options.what == "get") return get(options, system);
  if (options.what == "make") return make(options, system);
  return Error{ErrorKind::bad_request,
               fmt::format("data: expected get or make, not '{}'", options.what),
               "dllaunch data get cifar10"};
}

CommandBody declare_data(CommandOptions& app) {
  auto options = std::make_shared<DataArguments>();
  app.add_option("WHAT", options->what, "get or make")->type_name("get|make")->required();
  app.add_option("NAME", options->name,
                 "get: mnist, fashion-mnist, cifar10 or cifar100; make: synthetic")
      ->required();
  app.add_option("--to", options->to, "folder [NAME, here]")->type_name("DIR");
  app.add_option("--from", options->from, "get: a mirror with the same files [the publisher]")
      ->type_name("URL");
  app.add_option("--images", options->images,
                 "make: training images; a tenth more for validation [1024]")
      ->range(std::int64_t{1}, std::int64_t{1} << 50)
      ->type_name("N");
  constexpr int widest = 1 << 20;
  app.add_option("--size", options->size, "make: height and width, pixels [28]")
      ->range(1, widest)
      ->type_name("S");
  app.add_option("--classes", options->classes, "make: classes [10]")
      ->range(1, widest)
      ->type_name("C");
  app.add_option("--channels", options->channels, "make: channels of an image [3]")
      ->range(1, widest)
      ->type_name("K");
  return [options](System& system) { return data(*options, system); };
}

}  // namespace

extern const Command data_command;
const Command data_command{"data", "fetch a published data set, or make one", data_examples,
                           declare_data};

}  // namespace dllaunch

// The rules of the house, checked by a machine. Rules that are not here are only wishes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path root = DLLAUNCH_SOURCE_DIR;

/// A row of docs/rooms.txt: a room, and the rooms that it may include.
struct Room {
  std::string name;
  std::vector<std::string> includes;
};

/// docs/rooms.txt, bottom first.
std::vector<Room> read_rooms() {
  std::ifstream in(root / "docs/rooms.txt");
  std::vector<Room> rooms;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string word;
    if (line[0] != ' ') {
      words >> word;
      rooms.push_back({word, {}});
    } else {
      while (words >> word) rooms.back().includes.push_back(word);
    }
  }
  return rooms;
}

/// The room of a file: the longest row that names one of its folders; nullptr if there is none.
const Room* room_of(const std::vector<Room>& rooms, const std::string& path) {
  const Room* found = nullptr;
  for (const Room& room : rooms) {
    const bool holds = path.rfind(room.name + "/", 0) == 0;
    if (holds && (found == nullptr || room.name.size() > found->name.size())) found = &room;
  }
  return found;
}

/// A foreign library is included by one place. Prefix of the include -> prefixes of paths.
const std::map<std::string, std::vector<std::string>> library_doors = {
    {"hwloc", {"topology/discovery/discover_hwloc"}},
    {"mpi.h", {"runtime/communicators/mpi/module/"}},
    {"nccl", {"runtime/gpu/"}},
    {"cudnn", {"trainer/backends/cuda/"}},
    {"cublas", {"trainer/backends/cuda/"}},
    {"rccl/", {"runtime/gpu/"}},
    {"cuda", {"runtime/gpu/cuda/"}},
    {"hip/", {"runtime/gpu/hip/"}},
    {"miopen/", {"trainer/backends/hip/"}},
    {"rocblas/", {"trainer/backends/hip/"}},
    {"oneapi/dnnl", {"trainer/backends/onednn/"}},
    {"dnnl", {"trainer/backends/onednn/"}},
    {"yaml-cpp", {"launcher/config/yaml_"}},
    {"kainjow", {"launcher/plan/render_sbatch.cpp"}},
    {"zlib.h", {"trainer/data/"}},
    {"jpeglib.h", {"trainer/data/codecs/jpeg.cpp"}},
    {"jerror.h", {"trainer/data/codecs/jpeg.cpp"}},
    {"xxhash.h",
     {"launcher/staging/stage_parcel.cpp", "trainer/checkpoints/", "trainer/integrity/digest.cpp",
      "trainer/tuning/bucket_choice.cpp", "runtime/"}},
    {"CLI/", {"launcher/cli/command_options.cpp"}},
    {"nlohmann/", {"support/json_text.cpp"}},
    {"spdlog/", {"trainer/commands/main.cpp"}},
    {"sqlite3.h", {"launcher/daemon/database.cpp"}},
    {"microhttpd.h", {"launcher/daemon/http_server.cpp"}},
    {"sodium", {"support/network/proof.cpp"}},
    {"elfutils/", {"launcher/autopsy/native_stacks.cpp"}},
};

/// Sources, or folders of them, without a mirrored test, each with the reason.
const std::map<std::string, std::string> tested_elsewhere = {
    {"runtime/communicators/reduction/reduction_x86.cpp", "reduction_test.cpp"},
    {"runtime/communicators/reduction/reduction_portable.cpp",
     "reduction_test.cpp, built a second time"},
    {"runtime/gradients/error_feedback_x86.cpp", "error_feedback_test.cpp"},
    {"runtime/gradients/error_feedback_portable.cpp",
     "error_feedback_test.cpp, built a second time"},
    {"runtime/communicators/mpi/library.cpp", "mpi_test.cpp and communicators_test.cpp"},
    {"runtime/communicators/hierarchical/hierarchical.cpp", "communicators_test.cpp"},
    {"runtime/communicators/hierarchical/hierarchical_work.cpp",
     "hierarchical_communicator_test.cpp and communicators_test.cpp"},
    {"runtime/communicators/host/host_communicator.cpp",
     "communicator auto in communicators_test.cpp and ranks_apart_test.cpp"},
    {"runtime/communicators/host/transports.cpp",
     "every communicator over peers in communicators_test.cpp"},
    {"runtime/communicators/nccl/module.cpp", "loaded and called by nccl_test.cpp"},
    {"runtime/communicators/nccl/nccl_communicator.cpp", "through the module, by nccl_test.cpp"},
    {"runtime/communicators/ring/ring.cpp", "communicators_test.cpp"},
    {"runtime/communicators/parameter_server/parameter_server.cpp", "communicators_test.cpp"},
    {"runtime/rank/run_events.cpp", "a table: trainer/reports/events_test.cpp"},
    {"runtime/watchdog/end_of_node.cpp", "the end of real ranks in watchdog_test.cpp"},
    {"trainer/session/compiled_model.cpp", "prepare_test.cpp and batch_size_test.cpp"},
    {"trainer/training/make_reducer.cpp", "every training in train_test.cpp"},
    {"trainer/config/integrity_keys.cpp", "config_keys_test.cpp and guard_test.cpp"},
    {"trainer/parameters/arena_digest.cpp", "flipped bits in guard_test.cpp"},
    {"trainer/training/announce.cpp", "the first lines of runs in train_test.cpp"},
    {"trainer/session/session.cpp", "prepare_test.cpp and train_test.cpp"},
    {"trainer/backends/gpu/layers/library_layers.cpp",
     "backend_test.cpp on the host in place of a GPU"},
    {"trainer/backends/gpu/layers/stage_joints.cpp",
     "graph/stages_test.cpp on the host in place of a GPU"},
    {"trainer/backends/gpu/layers/weight_copies.cpp",
     "halves in gpu_executable_test.cpp; a shared weight in token_layers_test.cpp"},
    {"trainer/backends/gpu/layers/norm_layers.cpp",
     "backend_test.cpp on the host in place of a GPU"},
    {"trainer/backends/cuda/module.cpp", "loaded and called by cuda_backend_test.cpp"},
    {"trainer/backends/cuda/cublaslt_matmul.cpp", "backend_test.cpp, where there is a GPU"},
    {"trainer/backends/gpu/opening/gpu_backend.cpp",
     "hip/module_test.cpp, cuda/cuda_backend_test.cpp"},
    {"trainer/backends/cuda/cudnn_convolution.cpp", "backend_test.cpp, where there is a GPU"},
    {"trainer/backends/onednn/norm_x86.cpp", "norm_test.cpp, every instruction set"},
    {"trainer/backends/onednn/norm_portable.cpp", "norm_test.cpp, built a second time"},
    {"trainer/backends/onednn/sequences/attention.cpp", "every operation in backend_test.cpp"},
    {"trainer/backends/onednn/sequences/embeddings.cpp", "every operation in backend_test.cpp"},
    {"trainer/backends/onednn/sequences/gelu.cpp", "every operation in backend_test.cpp"},
    {"trainer/backends/onednn/sequences/layer_norm.cpp", "every operation in backend_test.cpp"},
    {"trainer/backends/onednn/sequences/tokens.cpp", "every operation in backend_test.cpp"},
    {"trainer/backends/onednn/sequences/token_dense.cpp", "every operation in backend_test.cpp"},
    {"trainer/backends/onednn/sequences/row_x86.cpp", "row_loops_test.cpp, every instruction set"},
    {"trainer/backends/onednn/sequences/row_portable.cpp",
     "row_loops_test.cpp, built a second time"},
    {"trainer/models/gpt2_mini.cpp", "gpt2_test.cpp"},
    {"trainer/models/gpt2_tiny.cpp", "gpt2_test.cpp"},
    {"trainer/models/vit_tiny.cpp", "vit_test.cpp"},
    {"trainer/models/resnet50v2.cpp", "resnet_v2_test.cpp"},
    {"trainer/models/resnet152v2.cpp", "resnet_v2_test.cpp"},
    {"trainer/commands/main.cpp",
     "run as a program by tests/end_to_end and trainer/dltrain_test.cpp"},
    {"launcher/supervise/decision_record.cpp", "supervisor_test.cpp: decisions carried out later"},
    {"launcher/supervise/incarnations.cpp", "supervisor_test.cpp: starts that take over"},
    {"launcher/cli/main.cpp", "run as a program by launcher/program_test.cpp"},
    {"launcher/cli/commands/",
     "run as a program by commands_test.cpp, program_test.cpp and tests/end_to_end"},
    {"topology/diagnosis/diagnosis_context.cpp",
     "what all rules share: topology/diagnosis_*_test.cpp"},
    {"launcher/autopsy/native_stacks_off.cpp", "one sentence, where elfutils is missing"},
    {"launcher/autopsy/registers_arm.cpp", "native_stacks_test.cpp, on Arm"},
    {"launcher/autopsy/registers_x86.cpp", "native_stacks_test.cpp: without them no frame but one"},
    {"launcher/doctor/examine.cpp", "real processes in end_to_end/doctor_test.cpp"},
    {"launcher/cli/command_options.cpp", "command_line_test.cpp and commands_test.cpp"},
    {"launcher/cli/command_help.cpp", "the golden help texts of commands_test.cpp"},
    {"launcher/daemon/client/client.cpp", "against the real server in daemon/http_server_test.cpp"},
    {"launcher/daemon/daemon.cpp", "run as a program by end_to_end/daemon_test.cpp"},
    {"launcher/daemon/main.cpp", "run as a program by end_to_end/daemon_test.cpp"},
    {"launcher/base/exit_code.cpp", "a table: cli/commands/guide/explain_test.cpp"},
    {"launcher/cli/error_kinds.cpp", "a table: cli/commands/guide/explain_test.cpp"},
    {"launcher/run/journal_events.cpp", "a table: journal_test.cpp"},
    {"launcher/presubmit/finding.cpp", "a table: cli/commands/guide/explain_test.cpp"},
    {"launcher/base/version.cpp", "--version in program_test.cpp"},
    {"launcher/cluster/cluster_profile_schema.cpp", "cluster_profile_test.cpp, key by key"},
    {"launcher/os/child_process.cpp", "posix_system_test.cpp: commands that hang, flood and die"},
    {"trainer/training/open_pipeline.cpp", "describe_stages_test.cpp, and pipelines that train"},
    {"trainer/training/open_split.cpp", "describe_stages_test.cpp and split_on_ranks_test.cpp"},
    {"launcher/plan/pipeline/rank_memory.cpp", "rank_stages_test.cpp"},
    {"trainer/training/loss_failure.cpp",
     "losses that are no numbers, in train_test.cpp and dltrain_test.cpp"},
    {"trainer/training/starting_point.cpp", "prepare_test.cpp and pipeline_on_ranks_test.cpp"},
    {"trainer/session/model_tensors.cpp", "prepare_test.cpp and pipeline_on_ranks_test.cpp"},
    {"trainer/training/build_model.cpp", "describe_stages_test.cpp and prepare_test.cpp"},
    {"launcher/cluster/named_topology.cpp", "--topology of topo and bind in commands_test.cpp"},
    {"launcher/job/load_job.cpp", "files that are missing, empty or folders in program_test.cpp"},
    {"launcher/job/job_keys.cpp", "a table: job_schema_test.cpp and docs/reference/job-file.md"},
    {"launcher/job/experiment_keys.cpp", "as job_keys.cpp"},
    {"launcher/job/key_rules.cpp", "as job_keys.cpp"},
    {"launcher/job/runtime_keys.cpp", "as job_keys.cpp"},
    {"launcher/launch/child_run.cpp", "tests/end_to_end/study_test.cpp and sweep_test.cpp"},
    {"launcher/launch/local_components.cpp", "tests/end_to_end/components_test.cpp"},
    {"launcher/launch/prepare_components.cpp", "tests/end_to_end/components_test.cpp"},
    {"launcher/supervise/own_components.cpp",
     "tests/end_to_end/components_slurm_test.cpp, on a real Slurm"},
    {"launcher/sweep/sweep_in_one_job.cpp", "tests/end_to_end/study_test.cpp, on a real Slurm"},
    {"launcher/queue/soonest.cpp", "tests/end_to_end/soonest_test.cpp, on a real Slurm"},
    {"launcher/sweep/run_sweep.cpp", "tests/end_to_end/sweep_test.cpp, with kills"},
    {"launcher/job/job_schema_markdown.cpp", "its page, compared in job_schema_test.cpp"},
    {"launcher/job/job_checks.cpp", "parse_job() in job_file_test.cpp, which calls nothing else"},
    {"launcher/job/job_from_json.cpp",
     "parse_job() in job_file_test.cpp, which calls nothing else"},
    {"launcher/links/answer_links.cpp", "tests/end_to_end/slurm_links_test.cpp, on a real Slurm"},
    {"launcher/links/measure_links.cpp", "tests/end_to_end/slurm_links_test.cpp, on a real Slurm"},
    {"launcher/lint/rules/", "a script each in tests/fixtures/lint/rules, read by lint_test.cpp"},
    {"launcher/lint/edits.cpp", "--fix of every fixture in lint_test.cpp"},
    {"launcher/lint/bash/read_words.cpp", "read_shell() in read_commands_test.cpp"},
    {"launcher/lint/bash/read_redirections.cpp", "read_shell() in read_commands_test.cpp"},
    {"launcher/lint/bash/expand_words.cpp", "run_shell() in run_commands_test.cpp"},
    {"launcher/lint/bash/walk_commands.cpp", "run_shell() in run_commands_test.cpp"},
    {"launcher/lint/bash/run_builtins.cpp", "run_shell() in run_commands_test.cpp"},
    {"launcher/network/blocks.cpp", "slurm_topology_test.cpp and topology_yaml_test.cpp"},
    {"launcher/network/torus.cpp", "topology_yaml_test.cpp and topology_address_test.cpp"},
    {"launcher/network/network_draft.cpp", "slurm_topology_test.cpp: lists that are too long"},
    {"launcher/config/schema_scalar.cpp", "schema_walk_test.cpp, value by value"},
};

bool is_tested_elsewhere(const std::string& path) {
  return std::any_of(tested_elsewhere.begin(), tested_elsewhere.end(), [&](const auto& entry) {
    const auto& [where, reason] = entry;
    return path == where || (where.back() == '/' && path.rfind(where, 0) == 0);
  });
}

struct Source {
  std::string path;  // relative to the root, with '/'
  std::vector<std::string> lines;
};

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<Source> sources(const std::vector<std::string>& in) {
  std::vector<Source> found;
  for (const auto& folder : in) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".hpp" && extension != ".cu") continue;
      found.push_back(
          {fs::relative(entry.path(), root).generic_string(), read_lines(entry.path())});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return found;
}

const std::vector<std::string> folders = {"support", "topology", "runtime", "trainer", "launcher"};
const std::vector<std::string> everything = {"support",  "topology", "runtime", "trainer",
                                             "launcher", "tests",    "bench"};

/// Calls `check(source, line number, line)` for every line and lists what it returns.
template <typename Check>
void expect_no_line(const std::vector<Source>& in, Check check) {
  for (const auto& source : in) {
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string complaint = check(source, source.lines[i]);
      if (!complaint.empty()) ADD_FAILURE() << source.path << ":" << i + 1 << ": " << complaint;
    }
  }
}

std::string included(const std::string& line) {
  static const std::regex form(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::smatch match;
  return std::regex_search(line, match, form) ? match[1].str() : "";
}

/// Characters, not bytes: continuation bytes of UTF-8 do not count.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(Rooms, StandAboveWhatTheyInclude) {
  std::set<std::string> below;
  for (const Room& room : read_rooms()) {
    EXPECT_TRUE(fs::is_directory(root / room.name)) << room.name << " is not a folder";
    for (const std::string& lower : room.includes) {
      EXPECT_TRUE(below.count(lower) == 1)
          << lower << " is not above " << room.name << " in the file";
    }
    EXPECT_TRUE(below.insert(room.name).second) << room.name << " has two rows";
  }
}

TEST(Rooms, IncludeWhatTheTableSays) {
  const std::vector<Room> rooms = read_rooms();
  std::set<std::pair<std::string, std::string>> unused;
  for (const Room& room : rooms) {
    for (const std::string& lower : room.includes) unused.insert({room.name, lower});
  }
  expect_no_line(sources(folders), [&](const Source& source, const std::string& line) {
    const Room* from = room_of(rooms, source.path);
    const Room* to = room_of(rooms, included(line));
    if (from == nullptr) return "docs/rooms.txt has no room for " + source.path;
    if (to == nullptr || to == from) return std::string();
    unused.erase({from->name, to->name});
    const bool allowed = std::ranges::find(from->includes, to->name) != from->includes.end();
    return allowed ? std::string() : from->name + " must not include " + to->name;
  });
  for (const auto& [from, to] : unused) ADD_FAILURE() << from << " includes nothing of " << to;
}

/// dllaunch starts in milliseconds on a login node: it links no MPI and nothing of the trainer.
TEST(Rooms, KeepMpiOutOfTheLauncher) {
  std::map<std::string, std::set<std::string>> reached;
  for (const Room& room : read_rooms()) {
    for (const std::string& lower : room.includes) {
      reached[room.name].insert(lower);
      reached[room.name].insert(reached[lower].begin(), reached[lower].end());
    }
    if (room.name.rfind("launcher", 0) != 0) continue;
    for (const std::string& lower : reached[room.name]) {
      EXPECT_NE(lower.rfind("trainer", 0), 0u) << room.name << " reaches " << lower;
      EXPECT_NE(lower.rfind("runtime/communicators", 0), 0u) << room.name << " reaches " << lower;
    }
  }
}

TEST(Rooms, AreDrawnAsTheTableSays) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
  const std::string command = "'" + (root / "scripts/draw-rooms").string() + "' --check";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

/// scripts/messages joins the pieces of a message, and leaves out code and what only programs read.
TEST(Messages, AreListedByRoom) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
  const auto list = [](const std::string& path) {
    std::string text;
    FILE* pipe = popen(("'" + (root / "scripts/messages").string() + "' " + path).c_str(), "r");
    for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text += static_cast<char>(c);
    return pclose(pipe) == 0 ? text : "failed";
  };
  const auto run = list("launcher/cli/commands/run.cpp");
  EXPECT_TRUE(run.starts_with("launcher/cli/commands\n  launcher/cli/commands/run.cpp:")) << run;
  EXPECT_NE(run.find(": the trainer dltrain is neither at {} nor on PATH\n"), std::string::npos);
  EXPECT_NE(run.find(": print the plan and the script; write nothing\n"), std::string::npos);
  const auto store = list("launcher/daemon/store.cpp");
  EXPECT_NE(store.find("(its version {}, ours {})"), std::string::npos) << store;
  EXPECT_EQ(store.find("WHERE"), std::string::npos) << store;
}

TEST(Tidy, EveryLibraryHasOneDoor) {
  expect_no_line(
      sources(folders), [](const Source& source, const std::string& line) -> std::string {
        const std::string target = included(line);
        for (const auto& [library, doors] : library_doors) {
          if (target.empty() || target.rfind(library, 0) != 0) continue;
          const bool allowed =
              std::any_of(doors.begin(), doors.end(),
                          [&](const std::string& door) { return source.path.rfind(door, 0) == 0; });
          if (!allowed) return target + " is included elsewhere already: " + doors.front();
        }
        return "";
      });
}

/// What costs seconds of compile time wherever it is seen stays in its source.
TEST(Tidy, NoHeaderShowsJsonOrOptionLibraries) {
  const auto is_door = [](const std::string& path) {
    return path == "support/json_text.cpp" || path == "launcher/cli/command_options.cpp" ||
           path.rfind("tests/support/json_", 0) == 0;
  };
  expect_no_line(sources(everything), [&](const Source& source, const std::string& line) {
    const std::string target = included(line);
    if (target.rfind("nlohmann/", 0) != 0 && target.rfind("CLI/", 0) != 0) return std::string();
    const bool allowed = source.path.ends_with(".cpp") && is_door(source.path);
    return allowed ? std::string() : target + ": include support/json.hpp or command_options.hpp";
  });
}

TEST(Tidy, LinesFitAHundredColumns) {
  expect_no_line(sources(everything), [](const Source&, const std::string& line) -> std::string {
    return columns(line) > 100 ? std::to_string(columns(line)) + " columns" : "";
  });
}

TEST(Tidy, NoMacrosAndNoConditionalCompilation) {
  static const std::regex one_dnn(R"(^#if DNNL_VERSION_MAJOR == 2$)");
  static const std::regex define(R"(^\s*#\s*(define|if|ifdef|ifndef|elif)\b)");
  // A vendor's header that lacks a function in older versions leaves no other way, nor does a
  // function for host and GPU that is to use an instruction of the GPU.
  static const std::map<std::string, std::regex> allowed = {
      {"runtime/communicators/nccl/nccl_api.hpp", std::regex(R"(^#if NCCL_VERSION_CODE >= )")},
      {"trainer/backends/onednn/versions.cpp", one_dnn},
      {"trainer/backends/onednn/versions.hpp", one_dnn},
      {"trainer/backends/gpu/kernels/conversions.hpp",
       std::regex(R"(^#(el)?if defined\(__(CUDA_ARCH|HIP_DEVICE_COMPILE)__\))")}};
  expect_no_line(sources(folders),
                 [&](const Source& source, const std::string& line) -> std::string {
                   if (!std::regex_search(line, define)) return "";
                   const auto at = allowed.find(source.path);
                   const bool allows = at != allowed.end() && std::regex_search(line, at->second);
                   return allows ? "" : "preprocessor: " + line;
                 });
}

TEST(Tidy, HeadersDoNotUseNamespaces) {
  for (const auto& source : sources(everything)) {
    if (source.path.substr(source.path.size() - 4) != ".hpp") continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      EXPECT_EQ(source.lines[i].find("using namespace"), std::string::npos)
          << source.path << ":" << i + 1;
    }
    EXPECT_TRUE(std::find(source.lines.begin(), source.lines.end(), "#pragma once") !=
                source.lines.end())
        << source.path << " lacks #pragma once";
  }
}

/// Two types of one name in one program are one type to the linker: templates over them mix.
/// Specialisations, NAME<...>, are types of their own.
TEST(Tidy, NoTwoHeadersNameATypeAlike) {
  static const std::regex type(
      R"(^(?:struct|class|enum class)\s+(?:alignas\(\w+\)\s+)?(\w+)\b(?!<)[^;]*\{)");
  static const std::regex space(R"(^namespace\s+([\w:]+)\s*\{)");
  // What is never linked into one program: the launcher's and the trainer's.
  for (const std::string apart : {"launcher", "trainer"}) {
    std::map<std::string, std::string> where;
    for (const auto& source : sources(everything)) {
      const bool here = source.path.find(apart + "/") == std::string::npos;
      if (!source.path.ends_with(".hpp") || !here) continue;
      std::string around;
      for (const auto& line : source.lines) {
        std::smatch match;
        if (std::regex_search(line, match, space)) around = match[1];
        if (!std::regex_search(line, match, type)) continue;
        const auto [known, is_new] = where.try_emplace(around + "::" + match[1].str(), source.path);
        EXPECT_TRUE(is_new) << match[1] << " is in " << known->second << " and " << source.path;
      }
    }
    EXPECT_GT(where.size(), 50u);
  }
}

TEST(Tidy, FilesAreNamedByContent) {
  static const std::regex vague(
      "(^|_)(util|utils|helper|helpers|common|misc|manager|handler|base)(_|$)");
  for (const auto& source : sources(everything)) {
    const std::string stem = fs::path(source.path).stem().string();
    EXPECT_FALSE(std::regex_search(stem, vague)) << source.path << " is named by nothing";
  }
}

/// What another user may have put in a file's place is opened by open_regular_file(), which waits
/// for nothing.
TEST(Tidy, FilesAreOpenedForReadingInOnePlace) {
  static const std::map<std::string, std::string> elsewhere = {
      {"support/regular_file.cpp", "the place"},
      {"support/file_text.cpp", "a shell's pipes"},
      {"topology/discovery/", "files of the kernel"},
      {"runtime/watchdog/kernel_view.cpp", "files of the kernel"},
      {"trainer/tuning/memory_budget.cpp", "files of the kernel"},
      {"launcher/accounting/rapl.cpp", "files of the kernel"},
      {"launcher/autopsy/observe_stacks.cpp", "files of the kernel"},
      {"launcher/doctor/observe.cpp", "files of the kernel"},
      {"launcher/preflight/gpu_state.cpp", "files of the kernel"},
      {"launcher/nodes/node_book.cpp", "judges what it has opened"},
      {"launcher/run/kept_files.cpp", "judges what it has opened"},
      {"launcher/rank/rendezvous/", "judges owner and mode of what it has opened"}};
  static const std::regex reads(R"(ifstream\b.*[({]|fopen\(.*"r|[^_]open(at)?\(.*O_RDONLY)");
  static const std::regex other(R"("/proc|"/dev/null|O_DIRECTORY)");
  expect_no_line(sources(folders), [](const Source& source, const std::string& line) {
    const bool known = std::ranges::any_of(
        elsewhere, [&](const auto& entry) { return source.path.starts_with(entry.first); });
    const bool bad = !known && std::regex_search(line, reads) && !std::regex_search(line, other);
    return bad ? "opens a file itself: see support/regular_file.hpp" : std::string();
  });
  for (const auto& [path, reason] : elsewhere)
    EXPECT_TRUE(fs::exists(root / path)) << path << " is on the list and gone: " << reason;
}

TEST(Tidy, EverySourceHasItsTest) {
  for (const auto& source : sources(folders)) {
    if (source.path.substr(source.path.size() - 4) != ".cpp") continue;
    if (is_tested_elsewhere(source.path)) continue;
    const std::string stem = source.path.substr(0, source.path.size() - 4);
    EXPECT_TRUE(fs::exists(root / "tests" / (stem + "_test.cpp")))
        << source.path << ": no tests/" << stem << "_test.cpp, and not on the list of reasons";
  }
  for (const auto& [path, reason] : tested_elsewhere) {
    EXPECT_TRUE(fs::exists(root / path)) << path << " is on the list and gone: " << reason;
  }
}

TEST(Tidy, NothingIsMarkedUnfinished) {
  static const std::regex mark(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  expect_no_line(sources(everything), [](const Source&, const std::string& line) -> std::string {
    return std::regex_search(line, mark) ? "marked as unfinished: " + line : "";
  });
}

/// Text, code and comments; .codespellrc says what is left out.
TEST(Tidy, WordsAreSpelledRight) {
  if (std::system("codespell --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no codespell";
  const std::string command = "cd '" + root.string() + "' && codespell";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace

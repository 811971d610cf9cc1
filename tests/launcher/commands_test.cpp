// The commands that only look: validate, schema, topo, bind, info, against a FakeSystem.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "launcher/cli/command_line.hpp"
#include "launcher/job/job_schema.hpp"
#include "support/json.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/golden.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

/// Runs a command line as main() does, without the process.
Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

std::string help_of(const std::vector<std::string>& args) {
  const auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  return std::get<Answer>(*parsed).text;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandGroup& group : command_groups())
    for (const Command* command : group.commands) names.emplace_back(command->name);
  return names;
}

TEST(Help, FitsOneScreen) {
  std::vector<std::string> texts = {render_help(command_groups())};
  for (const std::string& name : command_names()) texts.push_back(help_of({name, "--help"}));
  for (const std::string& text : texts) {
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << text;
    EXPECT_LT(text.find("Examples:"), text.find("Options:")) << text;
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > 0; })) << "LANG=C: " << text;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 80u) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(Help, IsGolden) {
  EXPECT_TRUE(matches_golden("launcher/help/dllaunch.txt", render_help(command_groups())));
  for (const std::string& name : command_names()) {
    EXPECT_TRUE(matches_golden("launcher/help/" + name + ".txt", help_of({name, "-h"})));
  }
}

TEST(Validate, SaysOkAndWhatTheJobIs) {
  FakeSystem system;
  system.files["a.yaml"] = "name: a\ntrain: {model: cnn}\n";
  EXPECT_EQ(*call(system, {"validate", "a.yaml", "--set", "resources.nodes=2"}), 0);
  EXPECT_EQ(system.printed,
            "a.yaml: ok\n  a: trains cnn on fashion-mnist\n"
            "  nodes 2, ranks per node auto, device auto, time left to Slurm\n");
  EXPECT_EQ(system.logged, "");
}

TEST(Validate, ShowsACommandAsOneTypesIt) {
  const auto shown = [](const std::string& run) {
    FakeSystem system;
    system.files["a.yaml"] = "name: a\nrun: " + run + "\n";
    EXPECT_EQ(*call(system, {"validate", "a.yaml"}), 0) << run;
    const std::size_t at = system.printed.find(" runs ") + 6;
    return system.printed.substr(at, system.printed.find('\n', at) - at);
  };
  EXPECT_EQ(shown("[python3, 'a b.py', --lr, 0.1]"), "python3 'a b.py' --lr 0.1");
  EXPECT_EQ(shown("python3 t.py --out \"$HOME/a b\""), "python3 t.py --out \"$HOME/a b\"");
  EXPECT_EQ(shown("|\n  cd a\n  ./b"), "2 lines of bash");
}

TEST(Validate, GivesTheTimeAUnit) {
  const auto time_of = [](const std::string& limit) {
    FakeSystem system;
    system.files["a.yaml"] = "name: a\nrun: x\nresources: {time: " + limit + "}\n";
    EXPECT_EQ(*call(system, {"validate", "a.yaml"}), 0) << limit;
    const std::size_t at = system.printed.rfind(", time ");
    return system.printed.substr(at + 2);
  };
  EXPECT_EQ(time_of("90"), "time 90 minutes\n");
  EXPECT_EQ(time_of("'90'"), "time 90 minutes\n");
  EXPECT_EQ(time_of("1"), "time 1 minute\n");
  EXPECT_EQ(time_of("'10:30'"), "time 10:30 (MM:SS)\n");
  EXPECT_EQ(time_of("'01:30:00'"), "time 01:30:00 (HH:MM:SS)\n");
  EXPECT_EQ(time_of("2-12"), "time 2-12 (D-HH)\n");
  EXPECT_EQ(time_of("'2-12:30'"), "time 2-12:30 (D-HH:MM)\n");
  EXPECT_EQ(time_of("'2-12:30:00'"), "time 2-12:30:00 (D-HH:MM:SS)\n");
}

TEST(Validate, PrintsEveryProblemAndFails) {
  FakeSystem system;
  system.files["a.yaml"] = "name: a\nruns: x\nshare: all\n";
  const auto code = call(system, {"validate", "a.yaml"});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().what, "a.yaml has 2 errors");
  EXPECT_EQ(code.error().kind, ErrorKind::bad_request);
  EXPECT_NE(code.error().hint.find("dllaunch schema --markdown"), std::string::npos);
  EXPECT_EQ(system.printed, "");
  EXPECT_NE(system.logged.find("a.yaml:2:1: error: unknown key 'runs'; did you mean 'run'?"),
            std::string::npos);
}

TEST(Validate, SpeaksOfKeysOnlyWhereAKeyIsWrong) {
  for (const char* text : {"name: a\nrun: x\nshare: all\n", "name: a\n",
                           "name: a\nrun: torchrun --nnodes=2 t.py\nresources: {nodes: 3}\n"}) {
    FakeSystem system;
    system.files["a.yaml"] = text;
    const auto code = call(system, {"validate", "a.yaml"});
    ASSERT_FALSE(code) << text;
    EXPECT_EQ(code.error().hint, "") << text;
  }
}

TEST(Validate, AnswersInJson) {
  FakeSystem system;
  system.files["a.yaml"] = "name: a\nruns: x\n";
  EXPECT_EQ(*call(system, {"validate", "--json", "a.yaml"}), 2);
  const Json answer = Json::parse(system.printed);
  EXPECT_EQ(answer["ok"], false);
  ASSERT_EQ(answer["problems"].size(), 1u);
  EXPECT_EQ(answer["problems"][0]["line"], 2);
  EXPECT_EQ(answer["problems"][0]["column"], 1);

  FakeSystem fine;
  fine.files["a.yaml"] = "name: a\nrun: x\n";
  EXPECT_EQ(*call(fine, {"validate", "--json", "a.yaml"}), 0);
  EXPECT_EQ(Json::parse(fine.printed).dump(), R"({"ok":true,"problems":[]})");
}

TEST(Validate, AMissingFileIsAMistakeInTheCommand) {
  FakeSystem system;
  const auto code = call(system, {"validate", "a.yaml"});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().what, "cannot read a.yaml: No such file or directory");
  EXPECT_EQ(exit_code_of(code.error().kind), 2);
}

TEST(Schema, PrintsBothForms) {
  FakeSystem system;
  EXPECT_EQ(*call(system, {"schema"}), 0);
  EXPECT_EQ(Json::parse(system.printed), job_schema());
  system.printed.clear();
  EXPECT_EQ(*call(system, {"schema", "--markdown"}), 0);
  EXPECT_EQ(system.printed, render_schema_markdown());
}

TEST(Topo, ShowsThisNodeOrANamedOne) {
  FakeSystem system;
  system.node = *synthetic_topology("numa:2 cores:4 gpus:2");
  EXPECT_EQ(*call(system, {"topo", "--json"}), 0);
  EXPECT_EQ(Json::parse(system.printed)["gpus"].size(), 2u);
  system.printed.clear();
  EXPECT_EQ(*call(system, {"topo", "--json", "--topology", "synthetic:numa:3"}), 0);
  EXPECT_EQ(Json::parse(system.printed)["numa"].size(), 3u);
  EXPECT_FALSE(call(system, {"topo", "--topology", "/no/such.xml"}));
}

TEST(Topo, AddsWhatTheVendorsLibrarySaysOfThisNode) {
  FakeSystem system;
  system.node = *synthetic_topology("numa:2 cores:4 gpus:2");
  Gpu told{.vendor = "nvidia", .pci = system.node.gpus[1].pci, .uuid = "GPU-b"};
  system.vendor_libraries = {{.name = "NVML", .found = true, .gpus = {told}}};
  EXPECT_EQ(*call(system, {"topo", "--json"}), 0);
  const Json gpus = Json::parse(system.printed)["gpus"];
  EXPECT_EQ(gpus[0]["uuid"], "GPU-b");
  EXPECT_EQ(gpus[0]["pci"], told.pci);
  // Of another machine it says nothing.
  system.printed.clear();
  EXPECT_EQ(*call(system, {"topo", "--json", "--topology", "synthetic:gpus:2"}), 0);
  EXPECT_EQ(system.printed.find("uuid"), std::string::npos);
}

TEST(Bind, PlacesRanks) {
  FakeSystem system;
  system.node = *synthetic_topology("numa:2 cores:4 gpus:2");
  EXPECT_EQ(*call(system, {"bind", "--json", "--ranks", "2", "--policy", "closest"}), 0);
  const Json answer = Json::parse(system.printed);
  EXPECT_EQ(answer["ranks"].size(), 2u);
  EXPECT_EQ(answer["srun"]["cpu_bind"], "mask_cpu:0xf,0xf0");
  system.printed.clear();
  EXPECT_EQ(*call(system, {"bind"}), 0);
  EXPECT_NE(system.printed.find("0xf0"), std::string::npos);
}

TEST(Bind, RefusesWordsItDoesNotKnow) {
  FakeSystem system;
  system.node = *synthetic_topology("cores:4");
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"bind", "--policy", "nearest"},
        {"bind", "--mode", "x"},
        {"bind", "--order", "x"},
        {"bind", "--reserve", "x"},
        {"bind", "--ranks", "0"},
        {"bind", "--ranks", "many"},
        {"bind", "--policy", "explicit"}}) {
    const auto code = call(system, args);
    ASSERT_FALSE(code) << args.back();
    EXPECT_EQ(code.error().kind, ErrorKind::bad_request) << args.back();
  }
}

TEST(Info, SaysWhatIsMissingAndWhy) {
  FakeSystem system;
  system.answers["mpirun --version"] = {0, "mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n", ""};
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  const Json info = Json::parse(system.printed);
  EXPECT_EQ(info["mpi"], Json::parse(R"({"found": true, "version": "4.1.4",
                                         "path": "/usr/bin/mpirun"})"));
  EXPECT_EQ(info["slurm"], Json::parse(R"({"found": false, "why": "sinfo is not installed"})"));
  EXPECT_EQ(info["communicators"]["hierarchical"]["usable"], true);
  EXPECT_EQ(info["communicators"]["nccl"]["built"], false);
  EXPECT_EQ(info["backends"]["reference"]["usable"], true);
  EXPECT_EQ(info["backends"]["cuda"]["usable"], false);
  EXPECT_NE(info["backends"]["hip"]["why"], "");
  EXPECT_TRUE(info["version"].is_string());
}

TEST(Info, SaysWhichMpiTheModuleFits) {
  FakeSystem system;
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  Json info = Json::parse(system.printed);
  const Json none = Json::parse(R"({"built": false, "usable": false,
                                    "why": "no MPI module; dllaunch build-mpi-module"})");
  EXPECT_EQ(info["mpi_modules"], Json::array());
  EXPECT_EQ(info["transports"]["tcp"]["usable"], true);
  EXPECT_EQ(info["transports"]["mpi"], none);
  EXPECT_EQ(info["communicators"]["mpi"], none);

  // The user's own comes before the one beside the program.
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  const std::string own = "/home/ada/.local/lib/dllaunch/libdltrain_mpi.so";
  const std::string beside = program + "/libdltrain_mpi.so";
  const auto describe = [&](const std::string& path) {
    return program + "/dltrain --describe-mpi " + path;
  };
  system.variables["HOME"] = "/home/ada";
  system.paths[own] = system.paths[beside] = {.exists = true};
  const std::string fits = R"({"path": "a.so", "fits": "MPICH 4.3.0", "library": "MPICH 5.0.2"})";
  system.answers[describe(own)] = {0, fits + "\n", ""};
  system.answers[describe(beside)] = {127, "", "libmpi.so.40: no such file\nmore\n"};
  system.printed.clear();
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  info = Json::parse(system.printed);
  ASSERT_EQ(info["mpi_modules"].size(), 2u);
  EXPECT_EQ(info["mpi_modules"][0], Json::parse(fits));
  EXPECT_EQ(info["mpi_modules"][1]["problem"],
            "dltrain exited with 127 when it loaded the MPI module " + beside +
                ": libmpi.so.40: no such file");
  EXPECT_EQ(info["transports"]["mpi"]["usable"], true);
  system.printed.clear();
  EXPECT_EQ(*call(system, {"info"}), 0);
  EXPECT_NE(system.printed.find(
                "\nMPI modules   a.so: for MPICH 4.3.0; the library here is MPICH 5.0.2\n"),
            std::string::npos)
      << system.printed;
}

TEST(BuildMpiModule, NeedsACompilerThatIsNamedOrFound) {
  FakeSystem system;
  system.variables["HOME"] = "/home/ada";
  system.programs.insert("cc");  // without Cray's modules it knows no MPI
  const auto code = call(system, {"build-mpi-module"});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().what, "there is no mpicc on PATH");
  EXPECT_TRUE(system.ran.empty());
}

TEST(Info, NcclIsUsableWhereItsModuleAndAGpuAre) {
  FakeSystem system;
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  system.paths[(program / "libdltrain_nccl.so").string()] = {.exists = true};
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  EXPECT_EQ(Json::parse(system.printed)["communicators"]["nccl"],
            Json::parse(R"({"built": true, "usable": false, "why": "no GPU here"})"));

  system.printed.clear();
  system.vendor_libraries = {{.name = "NVML", .found = true, .gpus = {Gpu{}}}};
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  EXPECT_EQ(Json::parse(system.printed)["communicators"]["nccl"]["usable"], true);
}

TEST(Info, SaysHowItWasInstalled) {
  FakeSystem system;
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  EXPECT_EQ(Json::parse(system.printed)["install"], "source");

  system.printed.clear();
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto prefix = folder.parent_path().parent_path();
  system.files[(prefix / "share/dllaunch/install").string()] = "bundle\n";
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  EXPECT_EQ(Json::parse(system.printed)["install"], "bundle");
}

TEST(Info, SaysWhichGpuLibrariesAnswer) {
  FakeSystem system;
  system.vendor_libraries = {
      {.name = "NVML", .found = true, .driver = "550.54.15", .gpus = {Gpu{}, Gpu{}}},
      {.name = "ROCm SMI", .why = "librocm_smi64.so is not on this machine"}};
  EXPECT_EQ(*call(system, {"info", "--json"}), 0);
  EXPECT_EQ(
      Json::parse(system.printed)["gpu_libraries"],
      Json::parse(R"({"NVML": {"found": true, "usable": true, "driver": "550.54.15", "gpus": 2},
                            "ROCm SMI": {"found": false, "usable": false,
                                         "why": "librocm_smi64.so is not on this machine"}})"));
  system.printed.clear();
  EXPECT_EQ(*call(system, {"info"}), 0);
  EXPECT_NE(system.printed.find("NVML              yes, driver 550.54.15\n"), std::string::npos)
      << system.printed;
}

TEST(Info, NamesTheErrorOfAProgramThatFails) {
  FakeSystem system;
  system.answers["sinfo --version"] = {1, "", "sinfo: error: no configuration\nmore\n"};
  system.programs.insert("mpirun");
  EXPECT_EQ(*call(system, {"info"}), 0);
  EXPECT_NE(system.printed.find("no: sinfo: error: no configuration\n"), std::string::npos);
  EXPECT_NE(system.printed.find("no: mpirun did not end within"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch

// Compares every published answer for a captured machine with ours to the same question. Answers
// are equal, or the reason for the difference is listed here; an unlisted one fails. Prints a table
// for people, and writes it next to the programs.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/support/json_file.hpp"
#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"
#include "topology/discovery/discover_hwloc.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

// The published question as a request. `machine` is set if the file names none or several.
struct Question {
  std::string file = {};
  int number = 0;  // index of the case in its file
  PlacementRequest ask = {};
  std::string differs = {};  // why our answer differs; empty: it does not
  std::string machine = {};
  std::string allowed = {};  // CPUs of the allocation, if not the whole node
  int only_gpu = -1;         // the only GPU of the allocation
};

const std::string threads_of_a_core =
    "asks for all hardware threads of a core but one; ours hands out the first or all";
const std::string neighbours =
    "map-by core packs ranks onto the first neighbouring cores without regard to GPUs and memory; "
    "ours gives each its share, beside its GPU";
const std::string second_core =
    "a GPU's second rank takes the next core; ours the first core of its own share";
const std::string packed =
    "jsrun packs ranks onto neighbouring cores; ours takes the first core of each GPU's share";
const std::string trimmed = "the capture is cut to 16 CPUs a socket: the published cores are gone";
const std::string aurora_system_cores = "0,49-52,101-103";

// What mpibind's unit tests ask for every machine; `gpus` is 0 if its capture shows none.
std::vector<Question> mpibind(const std::string& machine, int gpus, const std::string& core,
                              const std::string& cpu, const std::string& node, bool has_smt) {
  const auto file = "mpibind." + machine;
  // In an allocation on one NUMA node, mpibind sees only that node's GPUs.
  const int near = gpus < 0 ? 2 : gpus;
  return {
      {file, 0, {.gpus = gpus, .order = RankOrder::numa}},
      {file, 1, {.gpus = gpus, .smt = has_smt}},
      {file, 2, {.gpus = gpus}},
      {file, 3, {.gpus = gpus, .smt = has_smt}},
      {.file = file, .number = 4, .ask = {.gpus = near, .order = RankOrder::numa}, .allowed = core},
      {file, 5, {.gpus = gpus}},
      {file, 6, {.gpus = gpus, .smt = has_smt}},
      {file, 7, {.gpus = gpus}, has_smt ? threads_of_a_core : ""},
      {.file = file, .number = 8, .ask = {.gpus = near}, .allowed = node},
      {file, 9, {.gpus = gpus}},
      {file, 10, {.gpus = gpus}},
      {.file = file,
       .number = 11,
       .ask = {.gpus = near, .order = RankOrder::numa},
       .allowed = cpu}};
}

std::vector<Question> questions() {
  const PlacementRequest one_core{.mode = BindMode::core};
  const PlacementRequest whole_core{.mode = BindMode::core, .smt = true};
  const PlacementRequest along_numa{.order = RankOrder::numa};
  std::vector<Question> all{
      {"mpibind-tutorial.tioga-mi250x", 0, along_numa},
      {.file = "mpibind-tutorial.tioga-mi250x", .number = 1, .allowed = "60-63", .only_gpu = 1},
      {"prrte.turin-4h200", 0, whole_core},
      {"prrte.turin-4h200", 1, {.gpus = 2, .mode = BindMode::core, .smt = true}},
      {"prrte.turin-4h200", 2, whole_core,
       "numbers ranks by turns on each package; ours along the GPUs or along the NUMA nodes"},
      {"prrte.turin-4h200",
       3,
       {.smt = true},
       "bound to whole packages as asked there; ours stays inside the CPUs local to its GPUs"},
      {"prrte.turin-4h200", 4, whole_core, second_core},
      {"prrte.turin-4h200", 5, whole_core},
      {"prrte.turin-4h200",
       6,
       {.mode = BindMode::core, .order = RankOrder::numa, .smt = true},
       second_core},
      {"site.aurora", 0, {.order = RankOrder::numa, .reserve = aurora_system_cores}},
      {"site.aurora", 1, {.reserve = aurora_system_cores}},
      {.file = "site.frontier", .number = 0, .ask = along_numa, .machine = "tioga-mi250x-lownoise"},
      {.file = "site.frontier",
       .number = 1,
       .ask = along_numa,
       .differs =
           "Slurm deals tasks out by turns over the L3s; ours along the NUMA nodes in blocks",
       .machine = "tioga-mi250x-lownoise"},
      {.file = "site.frontier", .number = 2, .ask = along_numa, .machine = "tioga-mi250x-lownoise"},
      {.file = "site.lumi-g", .number = 0, .ask = one_core, .machine = "tioga-mi250x-lownoise"},
      {.file = "site.lumi-g", .number = 1, .machine = "tioga-mi250x-lownoise"},
      {.file = "site.lumi-g",
       .number = 2,
       .ask = {.cores_per_rank = 6},
       .machine = "tioga-mi250x-lownoise"},
      {"site.polaris", 0, along_numa},
      {"site.polaris", 1},
      {"site.summit", 0, {.cores_per_rank = 1}, packed},
      {"site.summit", 1, {}, trimmed},
      {"site.summit", 2, {}, trimmed}};
  for (int i = 0; i < 4; ++i) all.push_back({"prrte.azure-hbv4-176c", i, one_core, neighbours});
  for (int i = 7; i < 11; ++i) all.push_back({"prrte.turin-4h200", i, whole_core, neighbours});
  const auto add = [&](std::vector<Question> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  add(mpibind("coral-ea-p8-4p100", 0, "0-7", "0", "0-79", true));
  add(mpibind("lassen-p9-4v100", -1, "8-11", "8", "8-87", true));
  add(mpibind("quartz-nogpu", 0, "0", "0", "0-17", false));
  return all;
}

// Files without a case of this kind, and how they are covered.
const std::map<std::string, std::string> other_files = {
    {"gpu-table.dgx-a100", "PublishedAnswers.DgxA100: NUMA node, CPUs and nearest NIC of each GPU"},
    {"nccl-tables", "NCCL's own topology files, which are not hwloc's"},
    {"published-tables", "tables of machines without a capture"}};

fs::path expected_folder() {
  return fs::path(captured("x")).parent_path() / "expected";
}

Json expected(const std::string& file) {
  return json_of_file(expected_folder() / (file + ".json"));
}

// ---- one answer -----------------------------------------------------------------------------

// 1, "1" and "1.0" (one of its tiles) are GPU 1.
int gpu_number(const Json& gpu) {
  return gpu.is_string() ? std::stoi(gpu.get<std::string>()) : gpu.get<int>();
}

bool same_cpus(const Json& task, const IdSet& cpus) {
  const auto list = [&](const char* key) { return *parse_id_list(task[key].get<std::string>()); };
  if (task.contains("cpus")) return cpus == list("cpus");
  if (task.contains("mask")) return cpus == *parse_mask(task["mask"].get<std::string>());
  // CPUs on which the program's threads ran.
  if (task.contains("observed_cpus")) return cpus.contains(list("observed_cpus"));
  return cpus.first() == task["first_cpu"].get<int>();
}

bool same_gpus(const Json& task, const Topology& node, const RankPlacement& rank) {
  std::set<int> ours;
  std::set<std::string> buses;
  for (const int g : rank.gpus) {
    const auto& gpu = node.gpus[static_cast<std::size_t>(g)];
    ours.insert(gpu.index);
    buses.insert(gpu.pci.substr(5, 2));
  }
  // PRRTE names the device it mapped by; the rank may drive more.
  if (task.contains("device"))
    return ours.contains(std::stoi(task["device"].get<std::string>().substr(4)));
  if (!task.contains("gpus") || task["gpus"].empty()) return true;
  std::set<int> theirs;
  for (const auto& gpu : task["gpus"]) theirs.insert(gpu_number(gpu));
  if (theirs != ours) return false;
  if (!task.contains("bus")) return true;
  const auto published = task["bus"].get<std::vector<std::string>>();
  return std::set<std::string>(published.begin(), published.end()) == buses;
}

// Empty if all tasks agree, else the first that differs.
std::string first_difference(const Json& tasks, const Topology& node, const Placement& placement) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& rank = placement.ranks.at(i);
    if (same_cpus(tasks[i], rank.cpus) && same_gpus(tasks[i], node, rank)) continue;
    return fmt::format("task {}: published {}, ours CPUs {}", i, tasks[i].dump(),
                       to_list(rank.cpus));
  }
  return "";
}

class PublishedCases : public testing::Test {
 protected:
  void SetUp() override {
    if (captured_files().empty()) GTEST_SKIP() << "no captured topologies beside the repository";
  }

  const Topology& node(const std::string& machine) {
    const auto [slot, is_new] = nodes_.try_emplace(machine);
    if (is_new) {
      auto read = topology_from_xml(captured(machine));
      if (read)
        slot->second = *std::move(read);
      else
        ADD_FAILURE() << read.error().what;
    }
    return slot->second;
  }

 private:
  std::map<std::string, Topology> nodes_;
};

struct Row {
  int agree = 0;
  std::map<std::string, int> differ;  // by reason
};

std::string table_of(const std::map<std::string, Row>& rows) {
  std::string table =
      "| machine | cases | agree | differ | why they differ |\n| --- | --: | --: | --: | --- |\n";
  int agree = 0;
  int differ = 0;
  for (const auto& [machine, row] : rows) {
    int others = 0;
    std::string why;
    for (const auto& [reason, count] : row.differ) {
      others += count;
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", count, reason);
    }
    table += fmt::format("| {} | {} | {} | {} | {} |\n", machine, row.agree + others, row.agree,
                         others, why);
    agree += row.agree;
    differ += others;
  }
  return table + fmt::format("| all | {} | {} | {} | |\n", agree + differ, agree, differ);
}

TEST_F(PublishedCases, AgreeOrDifferForAReason) {
  std::map<std::string, Row> rows;
  for (const auto& question : questions()) {
    SCOPED_TRACE(fmt::format("{} case {}", question.file, question.number));
    const auto file = expected(question.file);
    ASSERT_TRUE(file.is_object());
    auto machine = question.machine;
    if (machine.empty()) machine = fs::path(file["topology"].get<std::string>()).stem().string();
    const auto& tasks = file["cases"].at(static_cast<std::size_t>(question.number))["tasks"];
    auto machine_now = node(machine);
    if (!question.allowed.empty()) machine_now.allowed_cpus &= *parse_id_list(question.allowed);
    if (question.only_gpu >= 0)
      std::erase_if(machine_now.gpus, [&](const Gpu& g) { return g.index != question.only_gpu; });
    auto ask = question.ask;
    ask.ranks = static_cast<int>(tasks.size());
    const auto placement = placed(machine_now, ask);
    ASSERT_EQ(placement.ranks.size(), tasks.size());
    const auto difference = first_difference(tasks, machine_now, placement);
    if (question.differs.empty()) {
      EXPECT_EQ(difference, "");
      ++rows[machine].agree;
    } else {
      EXPECT_NE(difference, "") << "it agrees by now: " << question.differs;
      ++rows[machine].differ[question.differs];
    }
  }
  const auto table = table_of(rows);
  std::printf("%s", table.c_str());
  std::ofstream(fs::path(DLLAUNCH_BIN_DIR) / "published-answers.md") << table;
}

TEST_F(PublishedCases, AreAllLookedAt) {
  std::set<std::pair<std::string, int>> known;
  for (const auto& question : questions())
    EXPECT_TRUE(known.insert({question.file, question.number}).second)
        << question.file << " case " << question.number << " stands twice";
  for (const auto& entry : fs::directory_iterator(expected_folder())) {
    const auto name = entry.path().stem().string();
    if (other_files.contains(name)) continue;
    const auto cases = static_cast<int>(expected(name)["cases"].size());
    EXPECT_GT(cases, 0) << name << " is new: give it questions or a reason";
    for (int i = 0; i < cases; ++i)
      EXPECT_TRUE(known.contains({name, i})) << name << " case " << i << " has no question";
  }
}

}  // namespace
}  // namespace dllaunch

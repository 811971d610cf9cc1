#include "topology/discovery/topology_format.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/topology/discovery/damage.hpp"
#include "tests/topology/node/machines.hpp"
#include "topology/render/render_topology.hpp"

namespace dllaunch {
namespace {

std::string temporary(const std::string& name, const std::string& text) {
  static const TemporaryFolder folder;
  auto path = folder.path() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string refusal(const std::string& text) {
  const auto topology = topology_from_json(Json::parse(text));
  return topology ? "none" : topology.error().what;
}

TEST(TopologyFormat, HasTheFieldsOfTheContract) {
  const auto document = to_json(machine("packages:2 cores:2 gpus:1 nics:1 memory:1"));
  EXPECT_EQ(document["packages"], 2);
  EXPECT_EQ(
      document["numa"][1],
      Json::parse(R"({"index": 1, "cpus": "2-3", "memory_bytes": 1073741824, "kind": "dram"})"));
  for (const auto* key : {"index", "name", "vendor", "pci", "cpus", "numa"})
    EXPECT_TRUE(document["gpus"][0].contains(key)) << key;
  for (const auto* key : {"name", "pci", "numa"})
    EXPECT_TRUE(document["nics"][0].contains(key)) << key;
  EXPECT_EQ(document["gpus"][0]["cpus"], "0-1");
  EXPECT_EQ(document["gpus"][0]["numa"], Json::parse("[0]"));
  EXPECT_EQ(document["allowed_cpus"], "0-3");
}

TEST(TopologyFormat, RoundTrips) {
  auto nodes = std::vector{machine("packages:2 numa:2 l3:2 cores:3 threads:2 gpus:5 nics:3")};
  for (const auto& name : fixture_names()) nodes.push_back(fixture(name));
  for (const auto& node : nodes) {
    const auto document = to_json(node);
    const auto again = topology_from_json(Json::parse(document.dump()));
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(to_json(*again), document) << node.source;
  }
}

TEST(TopologyFormat, ReadsTheContractsFieldsAlone) {
  const auto node = topology_from_json(Json::parse(
      R"({"packages": 1, "numa": [{"index": 0, "cpus": "0-3", "memory_bytes": 1, "kind": "dram"}],
          "gpus": [{"index": 0, "name": "", "vendor": "amd", "pci": "0000:01:00.0", "cpus": "0-3",
                    "numa": [0]}],
          "nics": [{"name": "hsn0", "pci": "", "numa": [0]}], "allowed_cpus": "1-3"})"));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->cores.size(), 4u);
  EXPECT_EQ(node->allowed_cpus, IdSet::range(1, 3));
  EXPECT_EQ(node->allowed_numa, IdSet{0});
}

TEST(TopologyFormat, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refusal("[]"), "topology JSON: the document is not an object");
  EXPECT_EQ(refusal("{}"), "topology JSON: the node has no CPU");
  EXPECT_EQ(refusal(R"({"numa": 3})"), "topology JSON: numa is not an array");
  EXPECT_EQ(refusal(R"({"numa": [3]})"), "topology JSON: numa[0] is not an object");
  EXPECT_EQ(refusal(R"({"numa": [{"index": -1}]})"),
            "topology JSON: numa[0].index is not in 0 to 65535");
  EXPECT_EQ(refusal(R"({"numa": [{"index": 18446744073709551615}]})"),
            "topology JSON: numa[0].index is not in 0 to 65535");
  EXPECT_EQ(refusal(R"({"numa": [{"index": 0, "cpus": "0-x"}]})"),
            "topology JSON: numa[0].cpus list item '0-x' is not a number or a range");
  EXPECT_EQ(refusal(R"({"numa": [{"index": 0, "memory_bytes": -1}]})"),
            "topology JSON: numa[0].memory_bytes is not a whole number from 0");
  EXPECT_EQ(refusal(R"({"cores": [{"cpus": ""}]})"), "topology JSON: cores[0].cpus is empty");
  EXPECT_EQ(refusal(R"({"gpus": [{"index": 0, "pci": 7}]})"),
            "topology JSON: gpus[0].pci is not a string");
  EXPECT_EQ(refusal(R"({"nics": [{"fabric": 1}]})"),
            "topology JSON: nics[0].fabric is not true or false");
  EXPECT_EQ(refusal(R"({"gpus": [{"index": 0, "numa": [70000]}]})"),
            "topology JSON: gpus[0].numa has an item that is not a CPU or NUMA number");
}

TEST(TopologyFormat, LoadsWhatAUserNames) {
  EXPECT_EQ(load_topology("synthetic:cores:3")->cores.size(), 3u);
  const auto path = temporary("node.json", to_json(machine("cores:3")).dump());
  const auto node = load_topology(path);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->source, "file " + path);
}

TEST(TopologyFormat, NamesTheInvalidFile) {
  const auto what = [](const std::string& spec) { return load_topology(spec).error().what; };
  EXPECT_EQ(what("/no/such.json"), "cannot read /no/such.json: No such file or directory");
  EXPECT_EQ(what("synthetic:cores:x"), "synthetic topology: 'cores:x' needs a count of 1 to 4096");
  const auto text = temporary("not.json", "cores: 3");
  EXPECT_EQ(what(text), text + " is not JSON");
  const auto fields = temporary("fields.json", "{}");
  EXPECT_EQ(what(fields), fields + ": topology JSON: the node has no CPU");
}

TEST(TopologyFormat, WritesAnyPathAsText) {
  auto node = machine("cores:1");
  node.source = "file \xff\xfe.xml";
  EXPECT_NO_THROW(static_cast<void>(to_json(node).dump()));
}

TEST(TopologyFormat, SurvivesDamagedJson) {
  const auto sample = to_json(machine("packages:2 cores:2 threads:2 gpus:2 nics:1")).dump();
  const auto other = to_json(fixture("hybrid-cores.json")).dump(1);
  with_damaged({sample, other}, 5000, 4, [](const std::string& text) {
    const auto document = Json::parse(text, nullptr, false);
    if (document.is_discarded()) return;
    const auto node = topology_from_json(document);
    if (!node) {
      EXPECT_FALSE(node.error().what.empty());
      return;
    }
    static_cast<void>(to_json(*node).dump());
    static_cast<void>(render_topology(*node, 80, false));
  });
}

}  // namespace
}  // namespace dllaunch

#include "topology/discovery/discover_hwloc_xml.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>

#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/discovery/own_affinity.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

/// The XML, read back, as JSON without its source.
Json read_back(const std::string& xml) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/node.xml") << xml;
  auto topology = topology_from_xml(folder.path() + "/node.xml");
  EXPECT_TRUE(topology) << topology.error().what;
  if (!topology) return {};
  topology->source = "";
  return to_json(*topology);
}

Json live() {
  auto topology = discover_topology(DeviceNames::read);
  EXPECT_TRUE(topology);
  topology->source = "";
  return to_json(*topology);
}

TEST(MachineXml, ReadBackIsThisMachine) {
  const auto xml = machine_xml();
  ASSERT_TRUE(xml) << xml.error().what;
  const auto read = read_back(*xml);
  const auto here = live();
  for (const auto* part :
       {"packages", "numa", "cores", "allowed_cpus", "allowed_numa", "present_cpus"})
    EXPECT_EQ(read[part], here[part]) << part;
  EXPECT_EQ(read["gpus"].size(), here["gpus"].size());
  EXPECT_EQ(read["nics"], here["nics"]);
}

TEST(MachineXml, MarksWhatIsDisallowed) {
  const auto all = own_affinity();
  if (all.size() < 2) GTEST_SKIP() << "this process may use one CPU only";
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(all.last()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto xml = machine_xml();
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(xml) << xml.error().what;
  const auto read = read_back(*xml);
  EXPECT_EQ(read["allowed_cpus"], std::to_string(all.last()));
  EXPECT_EQ(read["present_cpus"], live()["present_cpus"]) << "the whole node stands in it";
}

TEST(MachineXml, IsNeverAnotherMachine) {
  setenv("HWLOC_SYNTHETIC", "pack:2 core:4 pu:1", 1);
  const auto xml = machine_xml();
  unsetenv("HWLOC_SYNTHETIC");
  ASSERT_FALSE(xml);
  EXPECT_EQ(xml.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch

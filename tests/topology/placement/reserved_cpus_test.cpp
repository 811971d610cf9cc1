#include "topology/placement/reserved_cpus.hpp"

#include <gtest/gtest.h>

#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

std::string reserved(const Topology& node, const std::string& reserve) {
  const auto cpus = reserved_cpus(node, reserve);
  return cpus ? to_list(*cpus) : cpus.error().what;
}

TEST(ReservedCpus, AreThoseOfTheWordOrTheList) {
  const auto node = machine("l3:2 cores:2 threads:2");
  EXPECT_EQ(reserved(node, "auto"), "");
  EXPECT_EQ(reserved(node, "none"), "");
  EXPECT_EQ(reserved(node, "first-core-per-l3"), "0,2,4,6");
  EXPECT_EQ(reserved(node, "0"), "0,4") << "the sibling belongs to it";
  EXPECT_EQ(reserved(node, "4"), "4") << "a second thread stands for itself";
}

TEST(ReservedCpus, RefusesWhatTheNodeLacks) {
  const auto node = machine("cores:4");
  EXPECT_EQ(reserved(node, "9"), "reserve: this node has no CPU 9");
  const auto word = reserved_cpus(node, "some");
  ASSERT_FALSE(word);
  EXPECT_NE(word.error().hint.find("first-core-per-l3"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch

#include "launcher/drawing/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "launcher/drawing/heat_map.hpp"
#include "launcher/drawing/line_chart.hpp"
#include "launcher/drawing/node_picture.hpp"
#include "launcher/drawing/time_bars.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* evil = "<script>alert(1)</script> \"'&\x07\xff\xe2\x80\xae";

/// Foreign text is text everywhere, and every drawing is XML: a browser and a file reader take it.
TEST(Page, NamesAreNeverMarkup) {
  LineChart chart{.series = {{.points = {{1, 4}, {2, 2}}}}, .flags = {{.x = 1}}};
  chart.title = chart.x.title = chart.y.title = chart.series[0].name = chart.flags[0].text = evil;
  HeatMap map{.rows = {"0", "1"}, .columns = {"0", "1"}, .values = {1, 2, 3, 4}};
  map.title = map.unit = map.row_title = map.column_title = map.rows[0] = map.columns[1] = evil;
  TimeBars bars{.title = evil,
                .kinds = {evil},
                .rows = {{.label = evil, .text = evil, .parts = {{.from_s = 0, .to_s = 1}}}}};
  Topology node;
  node.numa = {{.index = 0, .cpus = {0}}};
  node.nics = {{.name = evil, .numa = {0}}};
  const std::string drawings = draw(chart) + draw(map) + draw(bars) + draw(node, {});
  const std::string all =
      drawings + numbers_of(chart) + numbers_of(map) + numbers_of(bars) +
      html_page({.title = evil, .note = evil, .sections = {{"a", evil, figure(evil, "", "")}}});
  EXPECT_THAT(all, Not(HasSubstr("<script")));
  EXPECT_THAT(all, Not(HasSubstr("\x07")));
  EXPECT_THAT(all, Not(HasSubstr("\xff")));
  EXPECT_THAT(all, HasSubstr("&lt;script&gt;"));

  const TemporaryFolder folder;
  const std::string file = folder.path() + "/drawings.xml";
  std::ofstream(file) << "<all>" << drawings << "</all>";
  PosixSystem system(Console{});
  const auto read =
      system.run({"python3", "-c", "import sys, xml.dom.minidom as d; d.parse(sys.argv[1])", file},
                 std::chrono::seconds(60));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->exit_code, 0) << read->err;
}

TEST(Page, IsOneFileWithItsContents) {
  const auto page = html_page(
      {.title = "a run",
       .note = "of today",
       .sections = {{.content = "first"}, {.id = "b", .title = "B", .content = "second"}}});
  EXPECT_THAT(page, HasSubstr("<a href=\"#b\">B</a>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, Not(HasSubstr("http://www.w3.org/1999")));
  for (const char* outside : {"<script", "src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace dllaunch

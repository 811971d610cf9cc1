// What Python, py-spy and the nodes' helpers say of stacks, and what is made of it.
#include "launcher/autopsy/function_name.hpp"
#include "launcher/autopsy/merge_stacks.hpp"
#include "launcher/autopsy/python_stacks.hpp"
#include "tests/fuzz/must_hold.hpp"

namespace {

using namespace dllaunch;

void expect_sound(const std::vector<Stack>& stacks) {
  for (const auto& stack : stacks) {
    must_hold(!stack.empty() && stack.size() <= 256, "a stack has frames, and not too many");
    for (const auto& frame : stack)
      must_hold(frame.file.find('/') == std::string::npos, "a file is named without its folder");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = text_of(data, size);
  must_hold(text.find(without_parameters(std::string(text))) != std::string::npos,
            "a name is cut, not made up");
  expect_sound(parse_faulthandler(text));
  if (const auto stacks = parse_py_spy(text)) expect_sound(*stacks);
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return 0;
  const auto report = merge_stacks({read_what_fits<NodeStacks>(document)});
  for (const auto& odd : report.odd) must_hold(!odd.why.empty(), "an odd rank has a reason");
  must_hold(stack_sentence(report).empty() == report.odd.empty(), "one is named if one is odd");
  render_stacks(report);
  must_hold(to_json(report).contains("groups"), "the document is whole");
  return 0;
}

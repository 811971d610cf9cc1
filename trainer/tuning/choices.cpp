#include "trainer/tuning/choices.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "support/json.hpp"
#include "trainer/reports/report_file.hpp"

namespace dllaunch {
namespace {

constexpr const char* batch_size_key = "batch_size";
constexpr const char* lr_key = "optimizer.lr";

std::filesystem::path file_of(const std::filesystem::path& run_dir) {
  return run_dir / "choices.json";
}

}  // namespace

Result<Choices> read_choices(const std::filesystem::path& run_dir) {
  const auto file = file_of(run_dir);
  std::ifstream in(file, std::ios::binary);
  if (!in) return Choices{};
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const Error broken{ErrorKind::bad_request, file.string() + " is damaged",
                     "remove it, and batch_size and lr are chosen again"};
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return broken;
  Choices choices;
  if (document.contains(batch_size_key)) {
    const Json& value = document[batch_size_key];
    if (!value.is_number_integer() || value < 1 || value > std::numeric_limits<int>::max()) {
      return broken;
    }
    choices.batch_size = value.get<int>();
  }
  if (document.contains(lr_key)) {
    const Json& value = document[lr_key];
    if (!value.is_number() || !(value > 0) || !std::isfinite(value.get<double>())) return broken;
    choices.lr = value.get<double>();
  }
  return choices;
}

Result<Ok> write_choices(const std::filesystem::path& run_dir, const Choices& choices) {
  Json document = Json::object();
  if (choices.batch_size) document[batch_size_key] = *choices.batch_size;
  if (choices.lr) document[lr_key] = *choices.lr;
  return replace_file(file_of(run_dir), document.dump() + "\n");
}

void broadcast(Choices& choices, Communicator& communicator) {
  std::array<double, 2> values{static_cast<double>(choices.batch_size.value_or(0)),
                               choices.lr.value_or(0)};
  communicator.wait(communicator.broadcast(values.data(), values.size(), DType::f64, /*root=*/0));
  if (values[0] > 0) choices.batch_size = static_cast<int>(values[0]);
  if (values[1] > 0) choices.lr = values[1];
}

}  // namespace dllaunch

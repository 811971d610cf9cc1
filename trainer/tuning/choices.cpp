#include "trainer/tuning/choices.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "support/file_text.hpp"
#include "support/json_fields.hpp"
#include "trainer/reports/report_file.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = 1 << 20;

std::filesystem::path file_of(const std::filesystem::path& run_dir) {
  return run_dir / "choices.json";
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, Choices& choices) {
  field.unless_empty("batch_size", within(choices.batch_size, 1, std::numeric_limits<int>::max()));
  field.unless_empty("optimizer.lr", choices.lr);
  if constexpr (Field::reads)
    if (choices.lr && !(*choices.lr > 0 && std::isfinite(*choices.lr)))
      field.refuse("optimizer.lr", "is not above 0");
}

Result<Choices> read_choices(const std::filesystem::path& run_dir) {
  const auto file = file_of(run_dir);
  const auto text = read_file_text(file.string(), FileLinks::refused, most_bytes);
  if (std::error_code none; !text && !std::filesystem::exists(file, none)) return Choices{};
  Choices choices;
  const auto document = Json::parse(text ? *text : "", nullptr, /*allow_exceptions=*/false);
  if (!read_fields(document, choices).empty())
    return Error{ErrorKind::bad_request, file.string() + " is damaged",
                 "remove it, and batch_size and lr are chosen again"};
  return choices;
}

Result<Ok> write_choices(const std::filesystem::path& run_dir, const Choices& choices) {
  return replace_file(file_of(run_dir), write_fields(choices).dump() + "\n");
}

void broadcast(Choices& choices, Communicator& communicator) {
  std::array<double, 2> values{static_cast<double>(choices.batch_size.value_or(0)),
                               choices.lr.value_or(0)};
  communicator.wait(communicator.broadcast(values.data(), values.size(), DType::f64, /*root=*/0));
  if (values[0] > 0) choices.batch_size = static_cast<int>(values[0]);
  if (values[1] > 0) choices.lr = values[1];
}

}  // namespace dllaunch

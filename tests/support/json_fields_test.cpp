#include "support/json_fields.hpp"

#include <gmock/gmock.h>

#include <array>
#include <map>

#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {

enum class Color { red, green, blue };
constexpr std::array<std::string_view, 3> color_names = {"red", "green", "blue"};

struct Wheel {
  std::string name = {};
  int spokes = 3;
  bool operator==(const Wheel&) const = default;
};

template <typename Field>
void visit_fields(Field& field, Wheel& wheel) {
  field.required("name", wheel.name);
  field("spokes", within(wheel.spokes, 1, 100));
}

struct Cart {
  std::string owner = {};
  bool open = false;
  std::int64_t time = 0;
  std::uint64_t bytes = 0;
  double weight = 0;
  Color color = Color::red;
  std::optional<int> limit = {};
  std::optional<Wheel> spare = {};
  std::vector<Wheel> wheels = {};
  std::vector<std::string> notes = {};
  std::map<std::string, std::vector<int>> loads = {};
  std::vector<std::pair<std::string, std::string>> labels = {};
  IdSet cpus = {};
  IdSet numa = {};
  IdSet mask = {};
  bool operator==(const Cart&) const = default;
};

template <typename Field>
void visit_fields(Field& field, Cart& cart) {
  field.only_written("format", 1);
  field.or_null("owner", cart.owner);
  field("open", cart.open);
  field("time", cart.time);
  field("bytes", cart.bytes);
  field("weight", cart.weight);
  field("color", as_word(cart.color, color_names));
  field("limit", within(cart.limit, 0, 1000));
  field("spare", cart.spare);
  field("wheels", cart.wheels);
  field.unless_empty("notes", cart.notes);
  field("loads", cart.loads);
  field("labels", cart.labels);
  field("cpus", cart.cpus);
  field("numa", AsArray{cart.numa});
  field("mask", as_text(cart.mask, to_mask, parse_mask));
  if constexpr (Field::reads)
    if (cart.wheels.size() > 4) field.refuse("wheels", "has more than 4");
}

namespace {

Cart random_cart(Random& random) {
  const auto text = [&] { return std::string(static_cast<std::size_t>(random.below(4)), 'x'); };
  const auto ids = [&] { return IdSet::range(random.below(8), random.below(100)); };
  const auto wheel = [&] { return Wheel{text(), 1 + random.below(100)}; };
  Cart cart{.owner = text(),
            .open = random.one_in(2),
            .time = std::int64_t{random.below(1 << 30)} - (1 << 29),
            .bytes = ~std::uint64_t{0} >> random.below(64),
            .weight = random.below(1000) / 8.0,
            .color = static_cast<Color>(random.below(3)),
            .labels = {{"b", text()}, {"a", text()}},
            .cpus = ids(),
            .numa = ids(),
            .mask = ids()};
  if (random.one_in(2)) cart.limit = random.below(1000);
  if (random.one_in(2)) cart.spare = wheel();
  for (int i = random.below(5); i > 0; --i) cart.wheels.push_back(wheel());
  for (int i = random.below(3); i > 0; --i) cart.notes.push_back(text());
  for (int i = random.below(3); i > 0; --i) cart.loads[text()].push_back(random.below(9));
  return cart;
}

std::string problem(const char* text) {
  Cart cart;
  return read_fields(Json::parse(text), cart);
}

TEST(JsonFields, ReadsWhatItWrote) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const auto cart = random_cart(random);
    const auto text = write_fields(cart).dump();
    Cart again;
    ASSERT_EQ(read_fields(Json::parse(text), again), "") << text;
    ASSERT_EQ(again, cart) << text;
    ASSERT_EQ(read_what_fits<Cart>(Json::parse(text)), cart) << text;
  }
}

TEST(JsonFields, KeepsTheOrderAndOmitsWhatIsEmpty) {
  EXPECT_EQ(write_fields(Cart{}).dump(),
            R"({"format":1,"owner":null,"open":false,"time":0,"bytes":0,"weight":0.0,)"
            R"("color":"red","limit":null,"spare":null,"wheels":[],"loads":{},"labels":{},)"
            R"("cpus":"","numa":[],"mask":"0x0"})");
}

TEST(JsonFields, NamesTheFirstFieldThatIsWrong) {
  EXPECT_EQ(problem("[]"), "the document is not an object");
  EXPECT_EQ(problem(R"({"owner": 1, "open": 1})"), "owner is not a string");
  EXPECT_EQ(problem(R"({"open": 1})"), "open is not true or false");
  EXPECT_EQ(problem(R"({"time": 1.5})"), "time is not a whole number");
  EXPECT_EQ(problem(R"({"bytes": -1})"), "bytes is not a whole number from 0");
  EXPECT_EQ(problem(R"({"weight": "1"})"), "weight is not a number");
  EXPECT_EQ(problem(R"({"color": "gray"})"), "color is not one of red, green, blue");
  EXPECT_EQ(problem(R"({"limit": 18446744073709551615})"), "limit is not in 0 to 1000");
  EXPECT_EQ(problem(R"({"spare": {}})"), "spare.name is missing");
  EXPECT_EQ(problem(R"({"spare": []})"), "spare is not an object");
  EXPECT_EQ(problem(R"({"wheels": {}})"), "wheels is not an array");
  EXPECT_EQ(problem(R"({"wheels": [{"name": "a"}, {"name": null}]})"), "wheels[1].name is missing");
  EXPECT_EQ(problem(R"({"wheels": [{"name": "a", "spokes": 0}]})"),
            "wheels[0].spokes is not in 1 to 100");
  EXPECT_EQ(problem(R"({"wheels": [{"name": ""}, {"name": ""}, {"name": ""}, {"name": ""},
                                   {"name": ""}]})"),
            "wheels has more than 4");
  EXPECT_EQ(problem(R"({"loads": {"a": [1, "x"]}})"), "loads.a[1] is not a whole number");
  EXPECT_EQ(problem(R"({"cpus": "0-x"})"), "cpus list item '0-x' is not a number or a range");
  EXPECT_EQ(problem(R"({"mask": "x"})").substr(0, 6), "mask: ");
}

TEST(JsonFields, NullAndUnknownKeysChangeNothing) {
  EXPECT_EQ(problem(R"({"new": 1, "time": null, "wheels": null, "cpus": null, "color": null})"),
            "");
}

TEST(JsonFields, KeepsWhatFits) {
  const auto cart = read_what_fits<Cart>(
      Json::parse(R"({"owner": 1, "time": 7, "limit": -1, "spare": 3, "notes": ["a", 2, "b"],
                      "wheels": [{"name": "w", "spokes": "x"}, 3], "labels": {"a": 1, "b": "c"}
                     })"));
  EXPECT_EQ(
      cart,
      (Cart{.time = 7, .wheels = {{.name = "w"}}, .notes = {"a", "b"}, .labels = {{"b", "c"}}}));
  EXPECT_EQ(read_what_fits<Cart>(Json("text")), Cart{});
}

TEST(JsonFields, TakesAnyJson) {
  Random random(3);
  with_damaged({write_fields(random_cart(random)).dump()}, 2000, 11, [](const std::string& text) {
    const auto document = Json::parse(text, nullptr, false);
    if (document.is_discarded()) return;
    Cart cart;
    const auto why = read_fields(document, cart);
    const auto kept = read_what_fits<Cart>(document);
    EXPECT_EQ(read_what_fits<Cart>(write_fields(kept)), kept);
    EXPECT_TRUE(!why.empty() || cart == kept) << text;
  });
}

}  // namespace
}  // namespace dllaunch

#include "launcher/daemon/store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace dllaunch {
namespace {

constexpr int schema_version = 1;

constexpr const char* schema = R"(
CREATE TABLE meta(made REAL NOT NULL);
CREATE TABLE runs(
  id INTEGER PRIMARY KEY, dir TEXT NOT NULL UNIQUE, name TEXT NOT NULL, job TEXT, launcher TEXT,
  state TEXT, job_id TEXT, over INTEGER NOT NULL, judged TEXT, began REAL, ended REAL, seconds REAL,
  place TEXT, reason TEXT, decision TEXT, submissions INTEGER, barren INTEGER,
  system_cancels INTEGER, wish TEXT, wished REAL, cancelled INTEGER, epoch INTEGER, step INTEGER,
  loss REAL,  val_accuracy REAL, images_per_s REAL);
CREATE INDEX runs_by_name ON runs(name);
CREATE INDEX live_runs ON runs(over) WHERE over = 0;
CREATE INDEX runs_by_state ON runs(state);
CREATE TABLE submissions(
  token TEXT PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id), reason TEXT, intended REAL,
  state INTEGER NOT NULL, job_id TEXT, words TEXT, exclude TEXT, judged TEXT);
CREATE INDEX submissions_of_run ON submissions(run);
CREATE INDEX open_submissions ON submissions(state) WHERE state = 0;
CREATE TABLE node_failures(node TEXT, job_id TEXT, time REAL);
CREATE INDEX node_failures_by_node ON node_failures(node, job_id);
CREATE TABLE usage(job_id TEXT PRIMARY KEY, time REAL, gpu_hours REAL);
CREATE TABLE notices(id INTEGER PRIMARY KEY, time REAL, event TEXT, run TEXT, words TEXT);
)";

/// Visits each column of `runs` with its field.
template <typename Run, typename Visit>
void visit_columns_of_run(Run& run, const Visit& visit) {
  visit("id", run.id);
  visit("dir", run.dir);
  visit("name", run.name);
  visit("job", run.job);
  visit("launcher", run.launcher);
  visit("state", run.state);
  visit("job_id", run.job_id);
  visit("over", run.over);
  visit("judged", run.judged);
  visit("began", run.began_s);
  visit("ended", run.ended_s);
  visit("seconds", run.seconds);
  visit("place", run.where);
  visit("reason", run.reason);
  visit("decision", run.decision);
  visit("submissions", run.submissions);
  visit("barren", run.without_progress);
  visit("system_cancels", run.system_cancels);
  visit("wish", run.wish);
  visit("wished", run.wished_s);
  visit("cancelled", run.cancelled);
  visit("epoch", run.epoch);
  visit("step", run.step);
  visit("loss", run.loss);
  visit("val_accuracy", run.val_accuracy);
  visit("images_per_s", run.images_per_s);
}

/// Visits each column of `submissions` with its field.
template <typename Submission, typename Visit>
void visit_columns_of_submission(Submission& submission, const Visit& visit) {
  visit("token", submission.token);
  visit("run", submission.run);
  visit("reason", submission.reason);
  visit("intended", submission.intended_s);
  visit("state", submission.state);
  visit("job_id", submission.job_id);
  visit("words", submission.message);
  visit("exclude", submission.exclude);
  visit("judged", submission.judged);
}

Cell cell_of(const std::string& field) {
  return field;
}
Cell cell_of(double field) {
  return field;
}
template <typename Whole>
Cell cell_of(Whole field) {
  return static_cast<std::int64_t>(field);
}

void take(const Cell& cell, std::string& field) {
  field = text(cell);
}
void take(const Cell& cell, double& field) {
  field = real(cell);
}
void take(const Cell& cell, bool& field) {
  field = whole(cell) != 0;
}
void take(const Cell& cell, SubmissionState& field) {
  constexpr auto last = static_cast<std::int64_t>(SubmissionState::never_sent);
  field = static_cast<SubmissionState>(std::clamp<std::int64_t>(whole(cell), 0, last));
}
template <typename Whole>
void take(const Cell& cell, Whole& field) {
  field = static_cast<Whole>(whole(cell));
}

using Names = std::vector<std::string>;

Names columns_of_run() {
  Names names;
  const RunRecord any;
  visit_columns_of_run(any, [&](const char* name, auto&&) { names.emplace_back(name); });
  return names;
}

Names columns_of_submission() {
  Names names;
  const Submission any;
  visit_columns_of_submission(any, [&](const char* name, auto&&) { names.emplace_back(name); });
  return names;
}

/// Returns "?3" if `name` is the third.
std::string place_of(const Names& names, std::string_view name) {
  return fmt::format("?{}", std::find(names.begin(), names.end(), name) - names.begin() + 1);
}

std::string places_of(const Names& names) {
  Names places;
  for (const auto& name : names) places.push_back(place_of(names, name));
  return fmt::format("{}", fmt::join(places, ", "));
}

/// `insert`: "INSERT INTO runs".
std::string with_values(std::string_view insert, const Names& names) {
  return fmt::format("{}({}) VALUES({})", insert, fmt::join(names, ", "), places_of(names));
}

std::string select_runs(std::string_view condition) {
  return fmt::format("SELECT {} FROM runs {}", fmt::join(columns_of_run(), ", "), condition);
}

std::string select_submissions(std::string_view condition) {
  return fmt::format("SELECT {} FROM submissions {}", fmt::join(columns_of_submission(), ", "),
                     condition);
}

/// A request made during a round is not overwritten by it.
std::string update_run() {
  const auto names = columns_of_run();
  const auto wished = place_of(names, "wished");
  Names changes;
  for (const auto& name : names) {
    auto value = place_of(names, name);
    if (name == "over")
      value = fmt::format("CASE WHEN wished > {} THEN 0 ELSE {} END", wished, value);
    if (name == "wish")
      value = fmt::format("CASE WHEN wished > {} THEN wish ELSE {} END", wished, value);
    if (name == "wished") value = fmt::format("max(wished, {})", wished);
    if (name != "id") changes.push_back(fmt::format("{}={}", name, value));
  }
  return fmt::format("UPDATE runs SET {} WHERE id={}", fmt::join(changes, ", "),
                     place_of(names, "id"));
}

/// Without the id of a new run, which the database assigns.
std::vector<Cell> cells_of(const RunRecord& run) {
  std::vector<Cell> cells;
  visit_columns_of_run(run,
                       [&](const char*, const auto& field) { cells.push_back(cell_of(field)); });
  if (run.id == 0) cells.front() = Cell();
  return cells;
}

std::vector<Cell> cells_of(const Submission& submission) {
  std::vector<Cell> cells;
  visit_columns_of_submission(
      submission, [&](const char*, const auto& field) { cells.push_back(cell_of(field)); });
  return cells;
}

/// Converts a row of select_runs().
RunRecord run_of(const Row& row) {
  RunRecord run;
  std::size_t at = 0;
  visit_columns_of_run(run, [&](const char*, auto& field) { take(row.at(at++), field); });
  return run;
}

/// Converts a row of select_submissions().
Submission submission_of(const Row& row) {
  Submission submission;
  std::size_t at = 0;
  visit_columns_of_submission(submission,
                              [&](const char*, auto& field) { take(row.at(at++), field); });
  return submission;
}

Result<std::vector<RunRecord>> runs_of(Result<std::vector<Row>> rows) {
  if (!rows) return std::move(rows).error();
  std::vector<RunRecord> runs;
  runs.reserve(rows->size());
  for (const auto& row : *rows) runs.push_back(run_of(row));
  return runs;
}

Result<std::optional<RunRecord>> first_of(Result<std::vector<RunRecord>> found) {
  if (!found) return std::move(found).error();
  if (found->empty()) return std::optional<RunRecord>();
  return std::optional(std::move(found->front()));
}

Result<std::vector<Submission>> submissions_in(Result<std::vector<Row>> rows) {
  if (!rows) return std::move(rows).error();
  std::vector<Submission> found;
  for (const auto& row : *rows) found.push_back(submission_of(row));
  return found;
}

Result<Ok> done(Result<std::vector<Row>> rows) {
  if (!rows) return std::move(rows).error();
  return Ok{};
}

}  // namespace

std::string to_string(SubmissionState state) {
  constexpr std::array<const char*, 4> names = {"intended", "submitted", "refused", "never sent"};
  return names.at(static_cast<std::size_t>(state));
}

Result<std::unique_ptr<Store>> Store::open(const std::string& path, double now_s) {
  auto database = Database::open(path);
  if (!database) return std::move(database).error();
  std::unique_ptr<Store> store(new Store(*std::move(database)));
  auto made = store->make_tables(now_s);
  if (!made) return std::move(made).error();
  return store;
}

Result<Ok> Store::make_tables(double now_s) {
  auto version = database_.run("PRAGMA user_version");
  if (!version) return std::move(version).error();
  const auto known = whole(version->front().front());
  if (known > schema_version)
    return Error{ErrorKind::bad_request,
                 fmt::format("the daemon's store was written by a newer dllaunch (its version {}, "
                             "ours {})",
                             known, schema_version),
                 "start the daemon of that dllaunch"};
  if (known == 0) {
    auto made = Transaction::begin(database_);
    if (!made) return std::move(made).error();
    auto filled = database_.script(schema);
    if (filled) filled = done(database_.run("INSERT INTO meta VALUES(?1)", {now_s}));
    if (filled) filled = database_.script(fmt::format("PRAGMA user_version = {}", schema_version));
    if (!filled) return filled;
    if (auto kept = made->commit(); !kept) return kept;
  }
  auto meta = database_.run("SELECT made FROM meta");
  if (!meta) return std::move(meta).error();
  made_s_ = meta->empty() ? now_s : real(meta->front().front());
  // Old rows are deleted, so that the store stays bounded.
  constexpr double quarter_s = 90 * 86400.0;
  const std::vector<Cell> since = {now_s - quarter_s};
  for (const char* old :
       {"DELETE FROM node_failures WHERE time < ?1", "DELETE FROM usage WHERE time < ?1",
        "DELETE FROM submissions WHERE state > 0 AND intended < ?1"})
    if (auto forgotten = done(database_.run(old, since)); !forgotten) return forgotten;
  return Ok{};
}

Result<std::int64_t> Store::write(const RunRecord& run) {
  static const auto insert = with_values("INSERT INTO runs", columns_of_run());
  static const auto update = update_run();
  auto written = database_.run(run.id == 0 ? insert : update, cells_of(run));
  if (!written) return std::move(written).error();
  return run.id == 0 ? database_.last_id() : run.id;
}

Result<Ok> Store::write(const Submission& submission) {
  static const auto insert =
      with_values("INSERT OR REPLACE INTO submissions", columns_of_submission());
  return done(database_.run(insert, cells_of(submission)));
}

Result<std::int64_t> Store::save(const RunRecord& run) {
  const std::lock_guard guard(mutex_);
  return write(run);
}

Result<Ok> Store::decide(const Transition& decision) {
  const std::lock_guard guard(mutex_);
  auto all = Transaction::begin(database_);
  if (!all) return std::move(all).error();
  auto run = write(decision.run);
  if (!run) return std::move(run).error();
  for (const auto& submission : decision.submissions)
    if (auto kept = write(submission); !kept) return kept;
  if (const auto& notice = decision.notice) {
    auto kept = done(database_.run("INSERT INTO notices VALUES(NULL, ?1, ?2, ?3, ?4)",
                                   {notice->time_s, notice->event, notice->run, notice->message}));
    if (!kept) return kept;
  }
  return all->commit();
}

Result<std::vector<RunRecord>> Store::live_runs() {
  const std::lock_guard guard(mutex_);
  static const auto sql = select_runs("WHERE over = 0");
  return runs_of(database_.run(sql));
}

Result<std::vector<RunRecord>> Store::runs(std::size_t most, std::int64_t before) {
  const std::lock_guard guard(mutex_);
  constexpr std::int64_t all = INT64_MAX;
  static const auto sql = select_runs("WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
  return runs_of(database_.run(sql, {before > 0 ? before : all, static_cast<std::int64_t>(most)}));
}

Result<std::optional<RunRecord>> Store::find(const std::string& name) {
  const std::lock_guard guard(mutex_);
  static const auto sql = select_runs("WHERE name = ?1 OR dir = ?1 ORDER BY id DESC LIMIT 1");
  return first_of(runs_of(database_.run(sql, {name})));
}

Result<std::optional<RunRecord>> Store::find_id(std::int64_t id) {
  const std::lock_guard guard(mutex_);
  static const auto sql = select_runs("WHERE id = ?1");
  return first_of(runs_of(database_.run(sql, {id})));
}

Result<std::vector<Store::Count>> Store::counts() {
  const std::lock_guard guard(mutex_);
  auto rows = database_.run("SELECT state, count(*) FROM runs GROUP BY state");
  if (!rows) return std::move(rows).error();
  std::vector<Count> counts;
  for (const auto& row : *rows) counts.push_back({text(row[0]), whole(row[1])});
  return counts;
}

Result<Ok> Store::wish(std::int64_t run, const std::string& what, double now_s) {
  const std::lock_guard guard(mutex_);
  // `over` is reset too, so that a restarted daemon considers the run. The time exceeds the
  // previous request's, whatever the clock says.
  return done(
      database_.run("UPDATE runs SET wish=?2, wished=max(?3, wished + 0.001), over=0 WHERE id=?1",
                    {run, what, now_s}));
}

Result<std::vector<Submission>> Store::open_submissions() {
  const std::lock_guard guard(mutex_);
  static const auto sql = select_submissions("WHERE state = 0");
  return submissions_in(database_.run(sql));
}

Result<std::vector<Submission>> Store::never_sent(double since_s) {
  const std::lock_guard guard(mutex_);
  static const auto sql = select_submissions("WHERE state = 3 AND intended >= ?1");
  return submissions_in(database_.run(sql, {since_s}));
}

Result<std::vector<Submission>> Store::submissions_of(std::int64_t run, std::size_t most) {
  const std::lock_guard guard(mutex_);
  static const auto sql = select_submissions("WHERE run = ?1 ORDER BY intended DESC LIMIT ?2");
  return submissions_in(database_.run(sql, {run, static_cast<std::int64_t>(most)}));
}

Result<Ok> Store::save(const Submission& submission) {
  const std::lock_guard guard(mutex_);
  return write(submission);
}

Result<Ok> Store::node_failed(const std::string& node, const std::string& job_id, double now_s) {
  const std::lock_guard guard(mutex_);
  // Slurm requeues a job under the same id: two of its failures are at least a minute apart.
  return done(database_.run(
      "INSERT INTO node_failures SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM node_failures "
      "WHERE node = ?1 AND job_id = ?2 AND time > ?3 - 60)",
      {node, job_id, now_s}));
}

Result<std::vector<std::string>> Store::failed_nodes(double since_s, int times) {
  const std::lock_guard guard(mutex_);
  auto rows = database_.run(
      "SELECT node FROM node_failures WHERE time >= ?1 GROUP BY node HAVING count(*) >= ?2 "
      "ORDER BY node",
      {since_s, std::int64_t{times}});
  if (!rows) return std::move(rows).error();
  std::vector<std::string> nodes;
  for (const auto& row : *rows) nodes.push_back(text(row[0]));
  return nodes;
}

Result<Ok> Store::used(const std::string& job_id, double gpu_hours, double now_s) {
  const std::lock_guard guard(mutex_);
  return done(
      database_.run("INSERT OR REPLACE INTO usage VALUES(?1, ?2, ?3)", {job_id, now_s, gpu_hours}));
}

Result<double> Store::gpu_hours(double since_s) {
  const std::lock_guard guard(mutex_);
  auto rows = database_.run("SELECT total(gpu_hours) FROM usage WHERE time >= ?1", {since_s});
  if (!rows) return std::move(rows).error();
  return real(rows->front().front());
}

Result<std::vector<Notice>> Store::notices(std::int64_t most) {
  const std::lock_guard guard(mutex_);
  auto rows =
      database_.run("SELECT id, time, event, run, words FROM notices ORDER BY id LIMIT ?1", {most});
  if (!rows) return std::move(rows).error();
  std::vector<Notice> found;
  for (const auto& row : *rows)
    found.push_back({.id = whole(row[0]),
                     .time_s = real(row[1]),
                     .event = text(row[2]),
                     .run = text(row[3]),
                     .message = text(row[4])});
  return found;
}

Result<std::optional<Notice>> Store::next_notice() {
  auto first = notices(1);
  if (!first) return std::move(first).error();
  return first->empty() ? std::nullopt : std::optional(std::move(first->front()));
}

Result<Ok> Store::notice_done(std::int64_t id) {
  const std::lock_guard guard(mutex_);
  return done(database_.run("DELETE FROM notices WHERE id = ?1", {id}));
}

}  // namespace dllaunch

#include "launcher/daemon/store.hpp"

#include <fmt/format.h>

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

constexpr std::string_view insert_run =
    "INSERT INTO runs VALUES(NULL, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
    "?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)";
// What a user wished meanwhile is not undone by a look that began before.
constexpr std::string_view update_run =
    "UPDATE runs SET dir=?2, name=?3, job=?4, launcher=?5, state=?6, job_id=?7, "
    " over=CASE WHEN wished > ?20 THEN 0 ELSE ?8 END, judged=?9,"
    " began=?10, ended=?11, seconds=?12, place=?13, reason=?14, decision=?15, submissions=?16,"
    " barren=?17, system_cancels=?18, wish=CASE WHEN wished > ?20 THEN wish ELSE ?19 END,"
    " wished=max(wished, ?20), cancelled=?21, epoch=?22, step=?23,"
    " loss=?24, val_accuracy=?25, images_per_s=?26 WHERE id=?1";

std::vector<Cell> cells_of(const RunRecord& run) {
  const auto number = [](auto value) { return Cell(static_cast<std::int64_t>(value)); };
  return {number(run.id),
          run.dir,
          run.name,
          run.job,
          run.launcher,
          run.state,
          run.job_id,
          number(run.over),
          run.judged,
          run.began_s,
          run.ended_s,
          run.seconds,
          run.where,
          run.reason,
          run.decision,
          number(run.submissions),
          number(run.without_progress),
          number(run.system_cancels),
          run.wish,
          run.wished_s,
          number(run.cancelled),
          run.epoch,
          run.step,
          run.loss,
          run.val_accuracy,
          run.images_per_s};
}

RunRecord run_of(const Row& row) {
  return {.id = whole(row[0]),
          .dir = text(row[1]),
          .name = text(row[2]),
          .job = text(row[3]),
          .launcher = text(row[4]),
          .state = text(row[5]),
          .job_id = text(row[6]),
          .over = whole(row[7]) != 0,
          .judged = text(row[8]),
          .began_s = real(row[9]),
          .ended_s = real(row[10]),
          .seconds = real(row[11]),
          .where = text(row[12]),
          .reason = text(row[13]),
          .decision = text(row[14]),
          .submissions = static_cast<int>(whole(row[15])),
          .without_progress = static_cast<int>(whole(row[16])),
          .system_cancels = static_cast<int>(whole(row[17])),
          .wish = text(row[18]),
          .wished_s = real(row[19]),
          .cancelled = whole(row[20]) != 0,
          .epoch = whole(row[21]),
          .step = whole(row[22]),
          .loss = real(row[23]),
          .val_accuracy = real(row[24]),
          .images_per_s = real(row[25])};
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
  for (const auto& row : *rows)
    found.push_back({.token = text(row[0]),
                     .run = whole(row[1]),
                     .judged = text(row[8]),
                     .reason = text(row[2]),
                     .intended_s = real(row[3]),
                     .state = static_cast<SubmissionState>(std::clamp<std::int64_t>(
                         whole(row[4]), 0, static_cast<int>(SubmissionState::never_sent))),
                     .job_id = text(row[5]),
                     .words = text(row[6]),
                     .exclude = text(row[7])});
  return found;
}

Result<Ok> done(Result<std::vector<Row>> rows) {
  if (!rows) return std::move(rows).error();
  return Ok{};
}

}  // namespace

std::string to_string(SubmissionState state) {
  constexpr std::array<const char*, 4> words = {"intended", "submitted", "refused", "never sent"};
  return words.at(static_cast<std::size_t>(state));
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
                 "start that one's daemon"};
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
  // Of no use to anybody any more, and no store grows for ever.
  constexpr double quarter_s = 90 * 86400.0;
  const std::vector<Cell> since = {now_s - quarter_s};
  for (const char* old :
       {"DELETE FROM node_failures WHERE time < ?1", "DELETE FROM usage WHERE time < ?1",
        "DELETE FROM submissions WHERE state > 0 AND intended < ?1"})
    if (auto forgotten = done(database_.run(old, since)); !forgotten) return forgotten;
  return Ok{};
}

Result<std::int64_t> Store::write(const RunRecord& run) {
  auto written = database_.run(run.id == 0 ? insert_run : update_run, cells_of(run));
  if (!written) return std::move(written).error();
  return run.id == 0 ? database_.last_id() : run.id;
}

Result<Ok> Store::write(const Submission& submission) {
  return done(
      database_.run("INSERT OR REPLACE INTO submissions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    {submission.token, submission.run, submission.reason, submission.intended_s,
                     static_cast<std::int64_t>(submission.state), submission.job_id,
                     submission.words, submission.exclude, submission.judged}));
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
                                   {notice->time_s, notice->event, notice->run, notice->words}));
    if (!kept) return kept;
  }
  return all->commit();
}

Result<std::vector<RunRecord>> Store::live_runs() {
  const std::lock_guard guard(mutex_);
  return runs_of(database_.run("SELECT * FROM runs WHERE over = 0"));
}

Result<std::vector<RunRecord>> Store::runs(std::size_t most, std::int64_t before) {
  const std::lock_guard guard(mutex_);
  constexpr std::int64_t all = INT64_MAX;
  return runs_of(database_.run("SELECT * FROM runs WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
                               {before > 0 ? before : all, static_cast<std::int64_t>(most)}));
}

Result<std::optional<RunRecord>> Store::find(const std::string& name) {
  const std::lock_guard guard(mutex_);
  return first_of(runs_of(database_.run(
      "SELECT * FROM runs WHERE name = ?1 OR dir = ?1 ORDER BY id DESC LIMIT 1", {name})));
}

Result<std::optional<RunRecord>> Store::find_id(std::int64_t id) {
  const std::lock_guard guard(mutex_);
  return first_of(runs_of(database_.run("SELECT * FROM runs WHERE id = ?1", {id})));
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
  // `over` too, so that a daemon started anew looks at it. Later than the wish before, whatever
  // the clock says.
  return done(
      database_.run("UPDATE runs SET wish=?2, wished=max(?3, wished + 0.001), over=0 WHERE id=?1",
                    {run, what, now_s}));
}

Result<std::vector<Submission>> Store::open_submissions() {
  const std::lock_guard guard(mutex_);
  return submissions_in(database_.run("SELECT * FROM submissions WHERE state = 0"));
}

Result<std::vector<Submission>> Store::never_sent(double since_s) {
  const std::lock_guard guard(mutex_);
  return submissions_in(
      database_.run("SELECT * FROM submissions WHERE state = 3 AND intended >= ?1", {since_s}));
}

Result<std::vector<Submission>> Store::submissions_of(std::int64_t run, std::size_t most) {
  const std::lock_guard guard(mutex_);
  return submissions_in(
      database_.run("SELECT * FROM submissions WHERE run = ?1 ORDER BY intended DESC LIMIT ?2",
                    {run, static_cast<std::int64_t>(most)}));
}

Result<Ok> Store::save(const Submission& submission) {
  const std::lock_guard guard(mutex_);
  return write(submission);
}

Result<Ok> Store::node_failed(const std::string& node, const std::string& job_id, double now_s) {
  const std::lock_guard guard(mutex_);
  // Slurm starts a job again under its number: two failures of it are a minute apart.
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

Result<std::optional<Notice>> Store::next_notice() {
  const std::lock_guard guard(mutex_);
  auto rows = database_.run("SELECT * FROM notices ORDER BY id LIMIT 1");
  if (!rows) return std::move(rows).error();
  if (rows->empty()) return std::optional<Notice>();
  const auto& row = rows->front();
  return std::optional(Notice{.id = whole(row[0]),
                              .time_s = real(row[1]),
                              .event = text(row[2]),
                              .run = text(row[3]),
                              .words = text(row[4])});
}

Result<Ok> Store::notice_done(std::int64_t id) {
  const std::lock_guard guard(mutex_);
  return done(database_.run("DELETE FROM notices WHERE id = ?1", {id}));
}

}  // namespace dllaunch

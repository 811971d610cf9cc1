#include "launcher/daemon/database.hpp"

#include <fmt/core.h>
#include <sqlite3.h>

#include <utility>

namespace dllaunch {
namespace {

void bind(sqlite3_stmt* statement, int at, const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) {
    sqlite3_bind_int64(statement, at, *number);
  } else if (const auto* fraction = std::get_if<double>(&cell)) {
    sqlite3_bind_double(statement, at, *fraction);
  } else if (const auto* words = std::get_if<std::string>(&cell)) {
    // SQLITE_STATIC: the caller's values outlive the statement.
    sqlite3_bind_text(statement, at, words->data(), static_cast<int>(words->size()), nullptr);
  } else {
    sqlite3_bind_null(statement, at);
  }
}

Row row_of(sqlite3_stmt* statement) {
  Row row;
  const int columns = sqlite3_column_count(statement);
  row.reserve(static_cast<std::size_t>(columns));
  for (int i = 0; i < columns; ++i) {
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_INTEGER:
        row.emplace_back(std::int64_t{sqlite3_column_int64(statement, i)});
        break;
      case SQLITE_FLOAT:
        row.emplace_back(sqlite3_column_double(statement, i));
        break;
      case SQLITE_NULL:
        row.emplace_back();
        break;
      default: {
        const auto* words = static_cast<const char*>(sqlite3_column_blob(statement, i));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
        row.emplace_back(words == nullptr ? std::string() : std::string(words, size));
      }
    }
  }
  return row;
}

Error damaged(const std::string& path, const std::string& why) {
  return {ErrorKind::bad_request, fmt::format("{} is damaged: {}", path, why),
          fmt::format("mv {0} {0}.damaged: the runs are found again, but not how often each was "
                      "submitted",
                      path)};
}

}  // namespace

std::int64_t whole(const Cell& cell) {
  const auto* number = std::get_if<std::int64_t>(&cell);
  return number == nullptr ? 0 : *number;
}

double real(const Cell& cell) {
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? static_cast<double>(whole(cell)) : *number;
}

const std::string& text(const Cell& cell) {
  static const std::string empty;
  const auto* words = std::get_if<std::string>(&cell);
  return words == nullptr ? empty : *words;
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void Database::Close::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Error Database::failure() const {
  const int code = sqlite3_errcode(database_.get());
  const std::string why = sqlite3_errmsg(database_.get());
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return damaged(path_, why);
  return {ErrorKind::unavailable, fmt::format("{}: {}", path_, why), ""};
}

Result<Database> Database::open(const std::string& path) {
  Database opened;
  opened.path_ = path;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
      nullptr);
  opened.database_.reset(raw);
  if (code != SQLITE_OK) return opened.failure();
  // Take the exclusive lock before WAL: WAL then needs no shared memory.
  auto done = opened.script(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "PRAGMA cache_size = -1024; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF");
  if (!done) return std::move(done).error();
  const auto checked = opened.run("PRAGMA quick_check(1)");
  if (!checked) return checked.error();
  if (checked->empty() || text(checked->front().front()) != "ok")
    return damaged(path, checked->empty() ? "no answer" : text(checked->front().front()));
  return opened;
}

Result<Ok> Database::script(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure();
  return Ok{};
}

Result<std::vector<Row>> Database::run(std::string_view sql, const std::vector<Cell>& values) {
  auto known = statements_.find(sql);
  if (known == statements_.end()) {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) return failure();
    known = statements_.emplace(sql, std::unique_ptr<sqlite3_stmt, Close>(raw)).first;
  }
  sqlite3_stmt* statement = known->second.get();
  for (std::size_t i = 0; i < values.size(); ++i)
    bind(statement, static_cast<int>(i) + 1, values[i]);
  std::vector<Row> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) rows.push_back(row_of(statement));
  Result<std::vector<Row>> result = std::move(rows);
  if (code != SQLITE_DONE) result = failure();
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return result;
}

std::int64_t Database::last_id() const {
  return sqlite3_last_insert_rowid(database_.get());
}

Result<Transaction> Transaction::begin(Database& database) {
  auto begun = database.run("BEGIN IMMEDIATE");
  if (!begun) return std::move(begun).error();
  return Transaction(database);
}

Result<Ok> Transaction::commit() {
  auto done = database_->run("COMMIT");
  if (!done) return std::move(done).error();
  database_ = nullptr;
  return Ok{};
}

Transaction::~Transaction() {
  // SQLite may have rolled back a failed transaction already; the error is harmless.
  if (database_ != nullptr && !database_->run("ROLLBACK")) return;
}

}  // namespace dllaunch

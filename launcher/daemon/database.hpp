// SQLite behind value types. Only database.hpp and database.cpp include sqlite3.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/result.hpp"

// NOLINTBEGIN(readability-identifier-naming): the library's own names
struct sqlite3;
struct sqlite3_stmt;
// NOLINTEND(readability-identifier-naming)

namespace dllaunch {

/// Null, a number, or text.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;
using Row = std::vector<Cell>;

/// Return the cell's value as the expected type; zero or empty text for another type.
std::int64_t whole(const Cell& cell);
double real(const Cell& cell);
const std::string& text(const Cell& cell);

/// One connection, used by one thread at a time, in WAL mode. Only this process has the file open,
/// so it also works on network file systems. Changes are on disk when a call returns.
class Database {
 public:
  /// Opens the database, or creates it. bad_request: the file is damaged or not a database.
  /// unavailable: it cannot be opened, or another process has it.
  static Result<Database> open(const std::string& path);

  /// `sql`: one statement with static lifetime, prepared once. `values`: its ?1, ?2, ...
  /// unavailable: the disk is full, or the file system is away.
  Result<std::vector<Row>> run(std::string_view sql, const std::vector<Cell>& values = {});
  /// Row id of the last INSERT.
  std::int64_t last_id() const;
  /// Runs statements without values or rows.
  Result<Ok> script(const std::string& sql);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  Error failure() const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::string_view, std::unique_ptr<sqlite3_stmt, Close>> statements_;
};

/// BEGIN; rolls back in the destructor unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Result<Ok> commit();

  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace dllaunch

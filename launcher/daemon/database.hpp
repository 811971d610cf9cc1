// SQLite behind value types: the only file that includes sqlite3.h is database.cpp.
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

/// What a cell holds in the type that is expected of it; another one is a zero or an empty text.
std::int64_t whole(const Cell& cell);
double real(const Cell& cell);
const std::string& text(const Cell& cell);

/// One connection, for one thread at a time. In WAL mode; this process alone has it open, which is
/// why it works on network file systems too. What was done is on the disk when it returns.
class Database {
 public:
  /// Made when absent. bad_request: the file is damaged, or no database. unavailable: it cannot be
  /// opened, or another process has it.
  static Result<Database> open(const std::string& path);

  /// `sql` is one statement that lives as long as the program: it is prepared once. Its ?1, ?2, ...
  /// are `values`. unavailable: the disk is full, the file system is gone.
  Result<std::vector<Row>> run(std::string_view sql, const std::vector<Cell>& values = {});
  /// Of the last INSERT.
  std::int64_t last_id() const;
  /// Statements without values or rows.
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

/// BEGIN; what is not committed when it goes away was never done.
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

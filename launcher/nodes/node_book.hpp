// The node book: a file with what runs saw of nodes, of one user or of a group. Many processes on
// many nodes append to it; any of them may die at any moment.
//
// An observation is one line, written by one write() with O_APPEND under a lock of the file
// (fcntl's, which NFS knows too). A line that a full disk or a kill cut is ended by the next
// writer, and skipped by readers (sighting.hpp). Where no lock can be had, because the file
// system has none or keeps it to this machine (NFS with `nolock`), or a dead client of it keeps
// it, a writer looks afterwards whether its lines are there, and writes them again if not; readers
// count a line once.
//
// A book that has grown is compacted, under the lock, into a file that takes its name: .NAME.tmp
// while it is written, .NAME.next when it is whole, then the book. A writer that gets the lock of
// the old file sees that the name is another's, and opens that. What a writer without a lock
// appended meanwhile is moved over. NFS may take the name away before the new file has it: where
// there is no book, writers and readers look for .NAME.next.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/nodes/sighting.hpp"
#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Names the book's file; empty: no book is kept.
inline constexpr const char* node_book_variable = "DLLAUNCH_NODE_BOOK";

struct NodeBook {
  std::string path = {};
  bool own = true;  // this user's; its folder is created
};

/// DLLAUNCH_NODE_BOOK, else `of_site` (a cluster profile's), else the user's own. nullopt: none is
/// kept, or there is no home directory.
std::optional<NodeBook> find_node_book(System& system, const std::string& of_site);

inline constexpr std::size_t compact_node_book_at = std::size_t{2} << 20;  // bytes

/// Appends the observations; durable when it returns. Compacts a book that is larger than
/// `compact_at`. unavailable: the file system refuses, and some lines may be there; or they are,
/// but the book cannot be compacted and only the newest part of it is read.
Result<Ok> append_to_node_book(const NodeBook& book, const std::vector<NodeSighting>& seen,
                               double now, std::size_t compact_at = compact_node_book_at);

/// The same in a child process, for at most so long: a network file system may hang.
Result<Ok> write_into_node_book(const NodeBook& book, const std::vector<NodeSighting>& seen,
                                double now,
                                std::chrono::milliseconds patience = std::chrono::seconds(10));

/// Names the book in a message that says only that nothing answered.
Error of_book(const NodeBook& book, Error error);

/// The newest 4 MiB. Empty where there is no file yet. unavailable: the file system refuses.
Result<ReadSightings> read_node_book(const NodeBook& book);

}  // namespace dllaunch

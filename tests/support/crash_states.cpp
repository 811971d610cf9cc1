#include "tests/support/crash_states.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

using Inode = std::size_t;
constexpr Inode none = 0;
constexpr Inode top = 1;

struct Node {
  bool folder = false;
  bool link = false;
  std::string data = {};
  std::map<std::string, Inode> names = {};  // of a folder
};
using Nodes = std::map<Inode, Node>;

/// A name in a folder that changes to another inode.
struct NameChange {
  Inode folder;
  std::string name;
  Inode before;
  Inode after;
};
/// Name changes that happen atomically.
using NameChanges = std::vector<NameChange>;

Inode look_up(const Nodes& nodes, Inode folder, const std::string& name) {
  const auto& names = nodes.at(folder).names;
  const auto found = names.find(name);
  return found == names.end() ? none : found->second;
}

void make_changes(Nodes& nodes, const NameChanges& changes) {
  for (const auto& [folder, name, before, after] : changes) {
    if (after == none) {
      nodes.at(folder).names.erase(name);
    } else {
      nodes.at(folder).names[name] = after;
    }
  }
}

bool can_apply(const Nodes& nodes, const NameChanges& changes) {
  return std::ranges::all_of(changes, [&](const NameChange& change) {
    return look_up(nodes, change.folder, change.name) == change.before;
  });
}

bool touches(const NameChanges& changes, Inode folder) {
  return std::ranges::any_of(changes, [&](const auto& change) { return change.folder == folder; });
}

struct Volume {
  Nodes live{{top, {.folder = true}}};                 // as programs see it
  Nodes sure = live;                                   // guaranteed after a crash
  std::map<Inode, std::vector<std::string>> contents;  // since the last sync of a file
  std::vector<NameChanges> changes;                    // since the last sync of their folders
  Inode last = top;
};

/// Returns the folder of a path and the last name. The inode is `none` if there is no such folder.
std::pair<Inode, std::string> walk(const Nodes& nodes, const std::string& path) {
  Inode at = top;
  std::string name;
  for (const auto& part : fs::path(path)) {
    if (!name.empty()) at = look_up(nodes, at, name);
    if (at == none) return {none, ""};
    name = part.string();
  }
  return {at, name};
}

Inode find(const Nodes& nodes, const std::string& path) {
  if (path.empty()) return top;
  const auto [folder, name] = walk(nodes, path);
  return folder == none ? none : look_up(nodes, folder, name);
}

void add_changes(Volume& volume, NameChanges changes) {
  make_changes(volume.live, changes);
  volume.changes.push_back(std::move(changes));
}

bool make(Volume& volume, const RecordedCall& call, Node node) {
  const auto [folder, name] = walk(volume.live, call.path);
  if (folder == none) return false;
  if (look_up(volume.live, folder, name) != none) return call.kind == "create";
  const Inode made = ++volume.last;
  volume.live[made] = node;
  volume.sure[made] = std::move(node);
  add_changes(volume, {{folder, name, none, made}});
  return true;
}

bool move(Volume& volume, const RecordedCall& call) {
  const auto [from, old_name] = walk(volume.live, call.path);
  const auto [to, new_name] = walk(volume.live, call.other);
  if (from == none || to == none) return false;
  const Inode moved = look_up(volume.live, from, old_name);
  const Inode there = look_up(volume.live, to, new_name);
  const Inode left = call.kind == "exchange" ? there : call.kind == "link" ? moved : none;
  add_changes(volume, {{from, old_name, moved, left}, {to, new_name, there, moved}});
  return moved != none;
}

bool unlink(Volume& volume, const RecordedCall& call) {
  const auto [folder, name] = walk(volume.live, call.path);
  const Inode gone = folder == none ? none : look_up(volume.live, folder, name);
  if (gone != none) add_changes(volume, {{folder, name, gone, none}});
  return gone != none;
}

bool change_content(Volume& volume, const RecordedCall& call) {
  const Inode file = find(volume.live, call.path);
  if (file == none) return false;
  std::string& data = volume.live.at(file).data;
  const std::string before = data;
  if (call.kind == "truncate") {
    data.resize(call.offset, '\0');
  } else {
    data.resize(std::max(data.size(), call.offset + call.data.size()), '\0');
    data.replace(call.offset, call.data.size(), call.data);
  }
  if (data != before) volume.contents[file].push_back(data);
  return true;
}

bool sync(Volume& volume, const RecordedCall& call) {
  const Inode synced = find(volume.live, call.path);
  if (synced == none) return false;
  if (!volume.live.at(synced).folder) {
    volume.sure.at(synced).data = volume.live.at(synced).data;
    volume.contents.erase(synced);
    return true;
  }
  std::vector<NameChanges> later;
  for (auto& changes : volume.changes) {
    if (touches(changes, synced)) {
      make_changes(volume.sure, changes);
    } else {
      later.push_back(std::move(changes));
    }
  }
  volume.changes = std::move(later);
  return true;
}

bool replay(Volume& volume, const RecordedCall& call) {
  if (call.path.ends_with(" (deleted)") || call.kind == "note") return true;
  if (call.kind == "create") return make(volume, call, {});
  if (call.kind == "mkdir") return make(volume, call, {.folder = true});
  if (call.kind == "symlink") return make(volume, call, {.link = true, .data = call.other});
  if (call.kind == "rename" || call.kind == "exchange" || call.kind == "link") {
    return move(volume, call);
  }
  if (call.kind == "unlink") return unlink(volume, call);
  if (call.kind == "write" || call.kind == "truncate") return change_content(volume, call);
  return call.kind == "sync" && sync(volume, call);
}

void list(const Nodes& nodes, Inode folder, const std::string& path, FileTree& tree) {
  for (const auto& [name, inode] : nodes.at(folder).names) {
    const Node& node = nodes.at(inode);
    if (node.folder) {
      tree[path + name + "/"] = "";
      list(nodes, inode, path + name + "/", tree);
    } else {
      tree[path + name] = (node.link ? "-> " : "") + node.data;
    }
  }
}

FileTree tree_of(const Nodes& nodes) {
  FileTree tree;
  list(nodes, top, "", tree);
  return tree;
}

/// Returns what a crash may leave of a file's later contents: the synced one, any later one, and
/// the last one cut or as zeros. Synced bytes that were not written again stay, unless the file was
/// truncated meanwhile.
std::vector<std::string> contents_left(const std::string& sure,
                                       const std::vector<std::string>& later) {
  const std::string& last = later.back();
  const bool grew =
      std::ranges::all_of(later, [&](const std::string& one) { return one.size() >= sure.size(); });
  const std::string stays = grew ? sure : "";
  const auto first =
      static_cast<std::size_t>(std::ranges::mismatch(stays, last).in1 - stays.begin());
  std::vector<std::string> left{sure};
  const auto cut_at = [&](std::size_t size) {
    left.push_back(last.substr(0, size) + stays.substr(std::min(size, stays.size())));
  };
  for (const std::size_t size : {first, first + 1, first + (last.size() - first) / 2})
    cut_at(std::min(size, last.size()));
  if (!last.empty()) cut_at(last.size() - 1);
  std::string zeros = last;
  for (std::size_t i = 0; i < zeros.size(); ++i)
    if (i >= stays.size() || stays[i] != last[i]) zeros[i] = '\0';
  left.push_back(zeros);
  left.insert(left.end(), later.begin(), later.end());
  std::vector<std::string> different;
  for (auto& content : left) {
    if (std::ranges::find(different, content) == different.end()) different.push_back(content);
  }
  std::swap(*std::ranges::find(different, last), different.back());
  return different;
}

using Subset = std::vector<const NameChanges*>;

/// Returns the subsets of one folder's changes that a crash may leave: all prefixes and, for few
/// changes, all subsets that keep the order for each name. The first is empty, the last complete.
std::vector<Subset> changes_left(const Nodes& sure, const Subset& changes) {
  std::vector<Subset> left;
  if (constexpr std::size_t few = 10; changes.size() > few) {
    for (std::size_t i = 0; i <= changes.size(); ++i) {
      left.emplace_back(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return left;
  }
  for (std::size_t bits = 0; bits < std::size_t{1} << changes.size(); ++bits) {
    Nodes nodes = sure;
    Subset subset;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if ((bits >> i & 1) == 0) continue;
      if (!can_apply(nodes, *changes[i])) break;
      make_changes(nodes, *changes[i]);
      subset.push_back(changes[i]);
    }
    if (subset.size() == static_cast<std::size_t>(std::popcount(bits))) left.push_back(subset);
  }
  return left;
}

/// The choices of a crash, independent of each other.
struct Choices {
  std::vector<std::pair<Inode, std::vector<std::string>>> files;
  std::vector<std::vector<Subset>> folders;

  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> sizes;
    for (const auto& [inode, contents] : files) sizes.push_back(contents.size());
    for (const auto& subsets : folders) sizes.push_back(subsets.size());
    return sizes;
  }
};

/// Inodes with no name, now or after a change that is not synced, no longer matter.
std::set<Inode> reachable(const Volume& volume) {
  std::set<Inode> found{top};
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (const Inode at : std::set(found)) {
      for (const auto& [name, inode] : volume.sure.at(at).names) found.insert(inode);
    }
    for (const auto& changes : volume.changes) {
      for (const auto& change : changes) {
        if (change.after != none && found.count(change.folder) > 0) found.insert(change.after);
      }
    }
  }
  return found;
}

Choices choices_of(const Volume& volume) {
  const auto matter = reachable(volume);
  Choices choices;
  for (const auto& [file, later] : volume.contents) {
    if (matter.count(file) == 0) continue;
    choices.files.emplace_back(file, contents_left(volume.sure.at(file).data, later));
  }
  std::map<Inode, Subset> of_folder;
  for (const auto& changes : volume.changes) {
    const Inode folder = changes.front().folder;
    if (matter.count(folder) > 0) of_folder[folder].push_back(&changes);
  }
  for (const auto& [folder, changes] : of_folder) {
    choices.folders.push_back(changes_left(volume.sure, changes));
  }
  return choices;
}

FileTree state_of(const Volume& volume, const Choices& choices,
                  const std::vector<std::size_t>& chosen) {
  Nodes nodes = volume.sure;
  auto choice = chosen.begin();
  for (const auto& [file, contents] : choices.files) nodes.at(file).data = contents[*choice++];
  for (const auto& subsets : choices.folders) {
    for (const auto* changes : subsets[*choice++]) make_changes(nodes, *changes);
  }
  return tree_of(nodes);
}

/// Returns the number of states visited, at most `most`. Increments `sampled` if there are more.
std::size_t crash(const Volume& volume, std::size_t most, std::size_t& sampled,
                  const std::function<void(const FileTree&)>& judge) {
  const Choices choices = choices_of(volume);
  const auto sizes = choices.sizes();
  std::size_t count = 1;
  for (const std::size_t size : sizes) count = std::min(count * size, most + 1);
  const bool all = count <= most;
  if (!all) ++sampled;
  std::mt19937_64 random(20211);
  std::vector<std::size_t> chosen(sizes.size(), 0);
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    std::size_t rest = i;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (!all && i > 0) rest = i == 1 ? sizes[k] - 1 : random() % sizes[k];
      chosen[k] = rest % sizes[k];
      rest /= sizes[k];
    }
    judge(state_of(volume, choices, chosen));
  }
  return std::min(count, most);
}

}  // namespace

std::string recorder_in(const fs::path& folder) {
  const fs::path link = folder / "recorder.so";
  fs::create_symlink(DLLAUNCH_RECORDED_FILES, link);
  return link.string();
}

std::string saboteur_in(const fs::path& folder) {
  const fs::path link = folder / "saboteur.so";
  fs::create_symlink(DLLAUNCH_FAILING_FILES, link);
  return link.string();
}

std::vector<RecordedCall> parse_recorded_calls(std::string_view log) {
  const auto field = [&] {
    const std::size_t end = std::min(log.find('\0'), log.size());
    const std::string text(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
    return text;
  };
  std::vector<RecordedCall> calls;
  while (!log.empty()) {
    RecordedCall call{.kind = field(), .path = field(), .other = field()};
    call.offset = std::stoull(field());
    const std::size_t size = std::min<std::size_t>(std::stoull(field()), log.size());
    call.data = log.substr(0, size);
    log.remove_prefix(size);
    calls.push_back(std::move(call));
  }
  return calls;
}

FileTree read_tree(const fs::path& folder) {
  FileTree tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path =
        fs::relative(entry.path().parent_path(), folder) / entry.path().filename();
    const std::string name = fs::path(path).lexically_normal().string();
    if (entry.is_symlink()) {
      tree[name] = "-> " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_directory()) {
      tree[name + "/"] = "";
    } else {
      std::ifstream in(entry.path(), std::ios::binary);
      tree[name] = std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  return tree;
}

void write_tree(const FileTree& tree, const fs::path& folder) {
  for (const auto& [name, content] : tree) {
    const fs::path path = folder / name;
    if (name.ends_with('/')) {
      fs::create_directories(path);
    } else if (content.starts_with("-> ")) {
      fs::create_symlink(content.substr(3), path);
    } else {
      std::ofstream(path, std::ios::binary) << content;
    }
  }
}

CrashReplay replay_crashes(
    const std::vector<RecordedCall>& calls, std::size_t most,
    const std::function<void(const FileTree& tree, std::size_t calls)>& judge) {
  CrashReplay result;
  Volume volume;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!replay(volume, calls[i])) result.errors.push_back(calls[i].kind + " " + calls[i].path);
    ++result.points;
    result.states += crash(volume, most, result.sampled_points,
                           [&](const FileTree& tree) { judge(tree, i + 1); });
  }
  result.end = tree_of(volume.live);
  return result;
}

}  // namespace dllaunch

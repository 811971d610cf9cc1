// Rules for srun's explicit CPU lists that need no knowledge of the node.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

/// A mask list that the script builds but never uses.
struct UnusedList {
  std::string name;
  const Assigned* assigned = nullptr;
};

/// Whether the name is read other than to build itself: M="$M,0xfe".
bool is_read_elsewhere(const Script& script, const std::string& name) {
  const auto places = script.run.read.find(name);
  if (places == script.run.read.end()) return false;
  std::vector<const Assigned*> own;
  for (const Assigned& assigned : script.run.assignments) {
    if (assigned.name == name && own.size() < Report::most) own.push_back(&assigned);
  }
  return std::ranges::any_of(places->second, [&](std::size_t at) {
    return std::ranges::none_of(own, [at](const Assigned* assigned) {
      return assigned->begin <= at && at < assigned->end;
    });
  });
}

std::vector<UnusedList> unused_lists(const Script& script) {
  std::map<std::string, const Assigned*> lists;
  for (const Assigned& assigned : script.run.assignments) {
    if (assigned.per_rank || assigned.exported || assigned.name.starts_with("SLURM_")) continue;
    if (lists.size() < Report::most && looks_like_bind_list(assigned.name, assigned.value)) {
      lists.try_emplace(assigned.name, &assigned);
    }
  }
  std::vector<UnusedList> unused;
  for (const auto& [name, assigned] : lists) {
    if (!is_read_elsewhere(script, name)) unused.push_back({name, assigned});
  }
  return unused;
}

/// Names in the value that the script never sets and the environment is unlikely to.
std::vector<Text::Mark> unset_names(const Script& script, const CpuBind& bind) {
  std::vector<Text::Mark> names;
  for (const Text::Mark& mark : bind.value.marks()) {
    const bool never = is_name(mark.name) && !script.run.assigned.contains(mark.name) &&
                       !mark.name.starts_with("SLURM") && !script.run.sources_files;
    if (!mark.gap && !never) continue;
    const bool told = std::ranges::any_of(
        names, [&](const Text::Mark& other) { return other.name == mark.name; });
    if (!told) names.push_back(mark);
  }
  return names;
}

bool all_hex(const std::string& name) {
  return name.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

/// The list that an unset name most likely stands for.
const UnusedList* meant(const std::vector<UnusedList>& unused, const std::string& name) {
  std::vector<std::string> names;
  names.reserve(unused.size());
  for (const UnusedList& list : unused) names.push_back(list.name);
  const auto nearest = nearest_name(name, names);
  for (const UnusedList& list : unused) {
    const bool inside =
        name.find(list.name) != std::string::npos || list.name.find(name) != std::string::npos;
    if (inside || (nearest && *nearest == list.name)) return &list;
  }
  return unused.size() == 1 ? &unused.front() : nullptr;
}

std::string first_broken(const CpuBind& bind, std::size_t& count) {
  std::string first;
  for (const BindItem& item : bind.items) {
    if (item.state != BindItem::State::unset) continue;
    if (count++ == 0) first = item.text.bytes();
  }
  return first;
}

/// Replaces every `${fe}` by the digits it spells, the only possible meaning.
std::vector<Edit> spell_out(const Script& script, const CpuBind& bind, const std::string& name) {
  std::vector<Edit> edits;
  for (const Text::Mark& mark : bind.value.marks()) {
    if (mark.name != name) continue;
    for (const std::string& form : {"${" + name + "}", "$" + name}) {
      if (script.text.substr(std::min(mark.source, script.text.size()), form.size()) != form)
        continue;
      const Edit edit{mark.source, mark.source + form.size(), name};
      if (std::ranges::find(edits, edit) == edits.end()) edits.push_back(edit);
      break;
    }
  }
  return edits;
}

void report_unset(const Script& script, const CpuBind& bind, const Text::Mark& mark,
                  const std::vector<UnusedList>& unused, Report& report) {
  std::size_t count = 0;
  const std::string example = first_broken(bind, count);
  std::string message =
      fmt::format("the CPU mask list uses ${{{}}}, which nothing sets: ", mark.name);
  if (script.run.nounset) {
    message += "with set -u the job stops here";
  } else if (count > 0 && all_hex(mark.name)) {
    message += fmt::format("{} of {} masks are {}, which {}", count, bind.items.size(),
                           example.empty() ? "empty" : in_quotes(example),
                           example.find_first_not_of("0xX") == std::string::npos
                               ? "holds no CPU at all"
                               : "is not the mask that was meant");
  } else {
    message += "the list is empty, and srun binds no rank as meant";
  }
  std::string fix = "set it before, or write the masks themselves";
  std::vector<Edit> edits;
  const UnusedList* list = count > 0 && all_hex(mark.name) ? nullptr : meant(unused, mark.name);
  const std::size_t end = std::min(mark.source, script.text.size());
  if (list != nullptr) {
    message += fmt::format("; the masks stand in ${}, set on line {} and never used", list->name,
                           line_of(script.text, list->assigned->begin));
    fix = "write $" + list->name;
    for (const std::string& form : {"${" + mark.name + "}", "$" + mark.name}) {
      if (script.text.substr(end, form.size()) == form) {
        const std::string now = form[1] == '{' ? "${" + list->name + "}" : "$" + list->name;
        edits.push_back({end, end + form.size(), now});
        break;
      }
    }
  } else if (count > 0 && all_hex(mark.name)) {
    fix = fmt::format("write {} instead of ${{{}}}, or set {}={} before", mark.name, mark.name,
                      mark.name, mark.name);
    edits = spell_out(script, bind, mark.name);
  }
  report.add(mark.source, std::move(message), std::move(fix), std::move(edits));
}

void check_unset(const Subject& subject, Report& report) {
  const std::vector<UnusedList> unused = unused_lists(subject.script);
  for (const CpuBind& bind : subject.binds) {
    for (const Text::Mark& mark : unset_names(subject.script, bind)) {
      if (!report.full()) report_unset(subject.script, bind, mark, unused, report);
    }
  }
}

void check_unused(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  // If an unset name stands for the list, that rule reports it better.
  const std::vector<UnusedList> unused = unused_lists(script);
  for (const CpuBind& bind : subject.binds) {
    for (const Text::Mark& mark : unset_names(script, bind)) {
      if (meant(unused, mark.name) != nullptr) return;
    }
  }
  for (const UnusedList& list : unused) {
    report.add(
        list.assigned->begin,
        fmt::format("the CPU masks in {} are never used: ranks are not bound to them", list.name),
        fmt::format(
            "write srun --cpu-bind={}${}",
            list.assigned->value.bytes().find("_cpu") != std::string::npos ? "" : "mask_cpu:",
            list.name));
  }
}

void check_empty(const Subject& subject, Report& report) {
  for (const CpuBind& bind : subject.binds) {
    for (std::size_t rank = 0; rank < bind.items.size() && !report.full(); ++rank) {
      const BindItem& item = bind.items[rank];
      if (item.state != BindItem::State::empty) continue;
      report.add(
          item.text.source(0),
          fmt::format(
              "CPU mask {} of the {} list, {}, holds no CPU: srun cannot bind local rank {}", rank,
              bind.kind(), item.text.empty() ? "an empty one" : item.text.bytes(), rank),
          "give every rank at least one CPU; `dllaunch bind` computes the masks of a node");
    }
  }
}

void check_malformed(const Subject& subject, Report& report) {
  for (const CpuBind& bind : subject.binds) {
    for (const BindItem& item : bind.items) {
      if (item.state != BindItem::State::malformed || report.full()) continue;
      report.add(
          item.text.source(0),
          fmt::format("{} is no {}: srun refuses the CPU mask list", in_quotes(item.text.bytes()),
                      bind.map ? "CPU number" : "hexadecimal mask"),
          bind.map ? "write CPU numbers with commas between them: map_cpu:1,9,17"
                   : "write hexadecimal masks with commas between them: mask_cpu:0xfe,0xfe00");
    }
  }
}

void check_overlap(const Subject& subject, Report& report) {
  for (const CpuBind& bind : subject.binds) {
    std::vector<int> owner(static_cast<std::size_t>(IdSet::max_id) + 1, -1);
    for (std::size_t rank = 0; rank < bind.items.size() && !report.full(); ++rank) {
      const BindItem& item = bind.items[rank];
      if (item.state != BindItem::State::good) continue;
      IdSet shared;
      int other = -1;
      for (const int cpu : item.cpus.ids()) {
        int& first = owner[static_cast<std::size_t>(cpu)];
        if (first < 0) {
          first = static_cast<int>(rank);
        } else if (other < 0 || other == first) {
          other = first;
          shared.insert(cpu);
        }
      }
      if (other < 0) continue;
      report.add(
          item.text.source(0),
          fmt::format("the CPU masks of local ranks {} and {} overlap: both get CPU{} {}, and each "
                      "waits for the other",
                      other, rank, shared.size() == 1 ? "" : "s", to_list(shared)),
          "give every rank CPUs of its own; `dllaunch bind` computes the masks of a node");
    }
  }
}

/// The tasks that share the list, if known.
long listed_tasks(const Subject& subject, const CpuBind& bind) {
  if (bind.items.empty() || !bind.known()) return -1;
  return step_request(subject.script, *bind.launch).tasks_per_node();
}

void check_count(const Subject& subject, Report& report) {
  for (const CpuBind& bind : subject.binds) {
    const long tasks = listed_tasks(subject, bind);
    const auto masks = static_cast<long>(bind.items.size());
    if (tasks < 1 || masks >= tasks) continue;
    report.add(
        bind.list.source(0),
        fmt::format("{} CPU mask{} for {} tasks per node: srun begins again with the first, so "
                    "ranks {} and 0 share CPUs",
                    masks, masks == 1 ? "" : "s", tasks, masks),
        fmt::format("give {} masks, or write --ntasks-per-node={}", tasks, masks));
  }
}

void check_extra(const Subject& subject, Report& report) {
  for (const CpuBind& bind : subject.binds) {
    const long tasks = listed_tasks(subject, bind);
    const auto masks = static_cast<long>(bind.items.size());
    if (tasks < 1 || masks <= tasks || !does_work(subject.script, *bind.launch)) continue;
    report.add(bind.list.source(0),
               fmt::format("{} CPU masks for {} task{} per node: the last {} never used", masks,
                           tasks, tasks == 1 ? "" : "s",
                           masks - tasks == 1 ? "one is" : std::to_string(masks - tasks) + " are"),
               fmt::format("write --ntasks-per-node={}, or leave {} mask{} out", masks,
                           masks - tasks, masks - tasks == 1 ? "" : "s"));
  }
}

void check_shared_node(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  if (script.request.exclusive || script.directives.het_job != 0) return;
  Edit edit = add_directive(script, "--exclusive");
  if (const GivenOption* partly = script.directive("exclusive"))
    edit = replace_option(script.directives.words, *partly, "--exclusive").value_or(edit);
  for (const CpuBind& bind : subject.binds) {
    if (!bind.typed) continue;
    const std::size_t at = bind.option != nullptr
                               ? bind.launch->arguments[bind.option->word].source(0)
                               : bind.value.source(0);
    report.add(
        at,
        fmt::format("{} numbers the CPUs of the whole node, but the job does not ask for whole "
                    "nodes: where Slurm gives it other CPUs, srun refuses the mask",
                    bind.kind()),
        "add #SBATCH --exclusive (needless where the partition gives whole nodes)", {edit});
  }
}

constexpr Rule mask_table[] = {
    {"mask-unset", Severity::error,
     "A mask list uses a variable that is never set; suggests the intended one.", check_unset},
    {"mask-unused", Severity::warning, "A variable holds masks that no srun uses.", check_unused},
    {"mask-empty", Severity::error, "A mask without CPUs: `0x0`, or nothing between two commas.",
     check_empty},
    {"mask-malformed", Severity::error, "A mask that is not a hexadecimal number.",
     check_malformed},
    {"mask-overlap", Severity::error, "Two local ranks get the same CPU.", check_overlap},
    {"mask-count", Severity::error, "Fewer masks than tasks on a node: srun reuses them.",
     check_count},
    {"mask-extra", Severity::warning, "More masks than tasks on a node.", check_extra},
    {"mask-shared-node", Severity::warning,
     "`mask_cpu` or `map_cpu` in a job that does not ask for whole nodes.", check_shared_node},
};

}  // namespace

std::span<const Rule> mask_rules() {
  return mask_table;
}

}  // namespace dllaunch::lint

#include "launcher/lint/lint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "launcher/base/utf8.hpp"
#include "support/json.hpp"

namespace dllaunch::lint {
namespace {

std::string_view to_string(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

/// A test compares this with the verdicts in tests/fixtures/lint/public_scripts.txt.
constexpr std::string_view measured =
    R"(
## How much it finds

Measured on 79 public job scripts (training, data preparation, benchmarks) on 2026-11-23. Every
finding was judged by the relevant lines of its script. Faults without a finding were searched for
by hand in all directives, launch lines, ports, addresses and GPU and thread variables, and with
`bash -n`. The judgements are in `tests/fixtures/lint/public_scripts.txt`. A fault counts once per
script and rule; a log folder counts as missing if the script is not beside it. There were no false
alarms. Findings, of all scripts with the fault:

| id | found |
| --- | --- |
| `cpus-per-task-lost` | 19 of 20 |
| `directive-duplicate` | 1 of 1 |
| `master-port` | 26 of 26 |
| `no-srun` | 1 of 1 |
| `no-time-limit` | 32 of 32 |
| `not-a-script` | 1 of 1 |
| `options-exclusive` | 1 of 1 |
| `output-folder` | 14 of 14 |
| `rank-expanded-early` | 1 of 1 |
| `unclosed` | 1 of 1 |

The missed one follows an unterminated quote, where lint stops reading, as bash does. None of the 79
has a fault of the other rules of that date, so their recall is unknown. Every rule has a script
that it must report and one that it must accept in `tests/fixtures/lint/rules/`. Not checked: a
`done` or `fi` without its beginning (1 of the 79), a log folder on a file system that is not
mounted where lint runs (5 of the 79).
)";

/// NUL marks unknown parts of Text; in a script it is an error of its own.
std::string without_nul(std::string_view text) {
  std::string clean(text);
  std::ranges::replace(clean, '\0', '\x01');
  return clean;
}

}  // namespace

std::span<const RuleArea> rule_areas() {
  static const RuleArea areas[] = {
      {script_rules(),
       "sbatch reads the first line and the #SBATCH lines of a script; then bash "
       "runs it on the first node. Either may stop before any rank starts."},
      {directive_rules(),
       "sbatch reads #SBATCH lines as text, up to the first command: it expands "
       "nothing, and ignores what comes later."},
      {task_rules(),
       "Slurm starts as many tasks as the options say, and gives each its CPUs; a "
       "program that expects other numbers shares a GPU or leaves some idle."},
      {mask_rules(),
       "srun gives mask i to local rank i, and does not check that masks fit the "
       "ranks, each other or the job."},
      {node_rules(),
       "The request does not fit the nodes of --topology: Slurm refuses the job, or "
       "ranks run far from their GPUs."},
      {network_rules(),
       "The nodes are not placed as the job needs it on the network of --network: Slurm cuts it "
       "unevenly over blocks, refuses it, or it waits in vain."},
      {gpu_rules(),
       "Which GPUs a rank sees decides whether it finds its own, and whether NCCL or "
       "RCCL can copy directly between the ranks of a node."},
      {rendezvous_rules(),
       "Ranks must agree on an address, a port and their numbers, and bash may "
       "expand a variable once for all of them."},
  };
  return areas;
}

std::span<const Rule> rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> joined;
    for (const RuleArea& area : rule_areas())
      joined.insert(joined.end(), area.rules.begin(), area.rules.end());
    return joined;
  }();
  return all;
}

std::vector<Finding> lint(std::string_view text, const Surroundings& around) {
  const std::string clean = without_nul(text);
  const Script script = read_script(clean);
  const Subject subject{script, around, cpu_binds(script)};
  std::vector<Finding> findings;
  for (const Rule& rule : rules()) {
    Report report{.severity = rule.severity};
    rule.check(subject, report);
    if (report.full()) report.findings.resize(Report::most);
    for (Finding& finding : report.findings) {
      finding.id = rule.id;
      finding.at = std::min(finding.at, text.size());
      findings.push_back(std::move(finding));
    }
  }
  const auto key = [](const Finding& f) { return std::tie(f.at, f.id, f.message); };
  std::ranges::stable_sort(findings,
                           [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
  findings.erase(std::unique(findings.begin(), findings.end(),
                             [&](const Finding& a, const Finding& b) { return key(a) == key(b); }),
                 findings.end());
  return findings;
}

Places::Places(std::string_view text) : text_(text), lines_{0} {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '\n') lines_.push_back(i + 1);
  }
}

Place Places::of(std::size_t at) const {
  at = std::min(at, text_.size());
  const auto after = std::ranges::upper_bound(lines_, at);
  const std::size_t begin = *std::prev(after);
  const auto before = static_cast<std::size_t>(characters_in(text_.substr(begin, at - begin)));
  return {static_cast<std::size_t>(after - lines_.begin()), before + 1};
}

std::string render_findings(const std::string& file, std::string_view text,
                            const std::vector<Finding>& findings, bool color) {
  const Places places(text);
  std::string out;
  for (const Finding& finding : findings) {
    const Place place = places.of(finding.at);
    std::string word(to_string(finding.severity));
    word += ':';
    if (color) {
      word.insert(0, finding.severity == Severity::error ? "\033[1;31m" : "\033[1;33m");
      word += "\033[0m";
    }
    const std::string fix = finding.fix.empty() ? "" : "; " + finding.fix;
    out += fmt::format("{}:{}:{}: {} {} [{}]\n", printable(file), place.line, place.column, word,
                       printable(finding.message + fix), finding.id);
  }
  return out;
}

std::string findings_json(const std::string& file, std::string_view text,
                          const std::vector<Finding>& findings, const std::string& diff) {
  Json list = Json::array();
  int errors = 0;
  const Places places(text);
  for (const Finding& finding : findings) {
    const Place place = places.of(finding.at);
    errors += finding.severity == Severity::error ? 1 : 0;
    list.push_back({{"id", finding.id},
                    {"severity", to_string(finding.severity)},
                    {"line", place.line},
                    {"column", place.column},
                    {"message", finding.message},
                    {"fix", finding.fix.empty() ? Json(nullptr) : Json(finding.fix)}});
  }
  Json document = {{"file", file}, {"findings", list}};
  document["errors"] = errors;
  document["warnings"] = static_cast<int>(findings.size()) - errors;
  if (!diff.empty()) document["diff"] = diff;
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string apply_edits(std::string_view text, const std::vector<Finding>& findings) {
  std::vector<Edit> edits;
  for (const Finding& finding : findings) {
    const auto clashes = [&](const Edit& edit) {
      return std::ranges::any_of(edits, [&](const Edit& made) {
        if (edit == made) return false;
        const bool apart = edit.end <= made.begin || made.end <= edit.begin;
        return !apart;
      });
    };
    // Apply all edits of a finding or none.
    if (std::ranges::any_of(finding.edits, clashes)) continue;
    for (const Edit& edit : finding.edits) {
      if (std::ranges::find(edits, edit) == edits.end()) edits.push_back(edit);
    }
  }
  std::ranges::stable_sort(edits, {}, &Edit::begin);
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at || edit.end > text.size()) continue;
    out += text.substr(at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  out += text.substr(at);
  return out;
}

std::string corrected(std::string_view text, const Surroundings& around) {
  std::string now(text);
  // One correction may reveal another; more than a few rounds would be a cycle.
  constexpr int most_rounds = 8;
  for (int round = 0; round < most_rounds; ++round) {
    std::string next = apply_edits(now, lint(now, around));
    if (next == now) break;
    now = std::move(next);
  }
  return now;
}

std::string render_rules_markdown() {
  std::string page =
      "# What `dllaunch lint` finds\n\n"
      "```bash title=\"job.sbatch\"\n"
      "#!/bin/bash\n"
      "#SBATCH --nodes=2 --ntasks-per-node=8 --exclusive --time=60\n"
      "export MASTER_PORT=29500\n"
      "srun --cpu-bind=map_cpu:1,9,17,25,33,41,49,57 python3 train.py\n"
      "```\n\n"
      "```console\n"
      "$ dllaunch lint job.sbatch\n"
      "job.sbatch:3:8: warning: the port 29500 is fixed: two jobs that meet on a node, or one that "
      "starts again at once, fail with \"Address already in use\"; write MASTER_PORT=$((20000 + "
      "SLURM_JOB_ID % 20000)) [master-port]\n"
      "```\n\n"
      "`--topology` names the nodes, so that masks can be judged. `--fix` prints the corrections "
      "as a patch:\n\n"
      "```console\n"
      "$ dllaunch lint job.sbatch --topology lumi-g --fix 2>/dev/null\n"
      "...\n"
      "-export MASTER_PORT=29500\n"
      "-srun --cpu-bind=map_cpu:1,9,17,25,33,41,49,57 python3 train.py\n"
      "+export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))\n"
      "+srun --cpu-bind=map_cpu:49,57,17,25,1,9,33,41 python3 train.py\n"
      "```\n\n"
      "The script is read like sbatch and bash would read it, and none of it is executed: "
      "directives "
      "up to\nthe first command, variables whose value is certain, every branch, functions, "
      "wrapper "
      "scripts in\nhere-documents, `bash -c '...'`. Values known only at run time are not judged. "
      "An "
      "error stops the\njob or binds ranks wrongly (exit code 4); a warning costs time or works by "
      "accident (exit code 0).\n`--fix` prints only corrections that are certain.\n\n"
      "| id | severity | what it finds |\n| --- | --- | --- |\n";
  for (const Rule& rule : rules()) {
    page += fmt::format("| `{}` | {} | {} |\n", rule.id, to_string(rule.severity), rule.summary);
  }
  return page + std::string(measured);
}

}  // namespace dllaunch::lint

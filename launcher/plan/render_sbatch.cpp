// Fills templates/job.sbatch.mustache. The only file that includes mustache.
#include <fmt/core.h>

#include <algorithm>
#include <kainjow/mustache.hpp>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/wrapped_lines.hpp"
#include "launcher/plan/container.hpp"
#include "launcher/plan/modular_plan.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/plan_internal.hpp"
#include "launcher/plan/script/job_sbatch_template.hpp"
#include "launcher/plan/script/plain_script.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

using kainjow::mustache::data;

/// ASCII lines of JSON, safe in a here-document and short enough to read around them: broken after
/// a comma, unless one text is longer.
std::string json_lines(const Json& document) {
  constexpr std::size_t width = 110;
  const auto text = document.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  std::string lines;
  std::size_t line = 0;   // where the current one begins
  std::size_t comma = 0;  // after the last one in it; the line's beginning if there is none
  bool quoted = false;
  const auto end_line = [&](std::size_t end) {
    lines += text.substr(line, end - line) + "\n";
    line = comma = end;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (quoted && text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[at] == ',') {
      if (at + 1 - line > width && comma > line) end_line(comma);
      comma = at + 1;
    }
  }
  if (text.size() - line > width && comma > line) end_line(comma);
  return lines + text.substr(line);
}

data list_of(const char* key, const std::vector<std::string>& values) {
  data list{data::type::list};
  for (const auto& value : values) list.push_back(data{key, value});
  return list;
}

data environment_lines(const LaunchPlan& plan) {
  data list{data::type::list};
  for (const auto& [name, value] : plan.environment) {
    data line{data::type::object};
    line.set("name", name);
    line.set("value", shell_quote(value));
    list.push_back(line);
  }
  return list;
}

/// sbatch refuses CRLF line ends. The template has the final newline.
std::string unix_lines(std::string text) {
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos;) text.erase(at, 1);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<std::string> quoted(const std::vector<std::string>& argv) {
  std::vector<std::string> all;
  all.reserve(argv.size());
  for (const auto& argument : argv) all.push_back(shell_quote(argument));
  return all;
}

/// One word of bash, with the placeholder replaced by the variable.
std::string with_stage_variable(std::string_view word) {
  std::string text;
  while (true) {
    const auto at = std::min(word.find(stage_mark), word.size());
    if (at > 0) text += shell_quote(word.substr(0, at));
    if (at == word.size()) return text;
    text += "\"$DLLAUNCH_STAGE\"";
    word.remove_prefix(at + stage_mark.size());
  }
}

/// srun and everything it starts. An array task's number (hence its directory) and the node-local
/// folder are known only inside the script.
std::string start_lines(const LaunchPlan& plan) {
  const auto argv = plan.start.argv();
  const auto begin = plan.start.shim_position();
  // The user's own words are left unchanged.
  const auto end = plan.train_json.empty() ? begin + plan.start.shim.size() : argv.size();
  const auto dir = task_dir(plan);
  const auto own_program = staged_program(plan.paths.dllaunch);
  return shell_lines(argv, begin, "  ", [&](std::size_t at, const std::string& word) {
    const bool names_stage = (at == begin && plan.stage.programs && word == own_program) ||
                             (at < begin && plan.stage.wanted() && plan.pyxis);
    if (names_stage) return with_stage_variable(word);
    const bool ours = plan.array && at >= begin && at < end && (word + "/").starts_with(dir + "/");
    if (!ours) return shell_quote(word);
    const auto rest = word.substr(dir.size());
    return "\"$dllaunch_run\"" + (rest.empty() ? rest : shell_quote(rest));
  });
}

data flag(bool value) {
  return data{value ? data::type::bool_true : data::type::bool_false};
}

data object_if(bool wanted, const char* key, const std::string& value) {
  return wanted ? data{key, value} : data{data::type::bool_false};
}

/// Where others can replace the run's directory.
void set_files(data& fields, const Paths& paths, const std::string& run_id) {
  fields.set("files", object_if(!paths.files.empty(), "path", shell_quote(paths.files)));
  fields.set("guarded",
             object_if(!paths.files.empty() && !run_id.empty(), "run", shell_quote(paths.run_dir)));
}

data fetch_fields(const LaunchPlan& plan) {
  const auto file = fetched_image(plan);
  if (file.empty()) return data{data::type::bool_false};
  data fetch{data::type::object};
  fetch.set("file", shell_quote(file));
  fetch.set("address", shell_quote(plan.container->image));
  fetch.set("command", plan.container->runtime == "enroot" ? "enroot import --output"
                                                           : plan.container->runtime + " pull");
  return fetch;
}

/// Options of the batch script's `dllaunch stage`, besides the folder.
std::vector<std::string> stage_options(const LaunchPlan& plan) {
  std::vector<std::string> options;
  if (plan.stage.broadcast) options.emplace_back("--broadcast");
  if (plan.stage.programs) {
    options.insert(options.end(), {"--program", plan.paths.dllaunch});
    if (!plan.train_json.empty()) options.insert(options.end(), {"--program", plan.paths.dltrain});
  }
  options.emplace_back("--");
  options.insert(options.end(), plan.stage.sources.begin(), plan.stage.sources.end());
  return options;
}

/// Apptainer and Singularity get the staged folder through a variable of theirs: its name is known
/// only at run time.
std::string bind_stage(const LaunchPlan& plan) {
  if (!plan.container || plan.container->runtime == "enroot") return "";
  const auto* name = plan.container->runtime == "apptainer" ? "APPTAINER_BIND" : "SINGULARITY_BIND";
  return fmt::format("\nexport {0}=\"${{{0}:+${0},}}$DLLAUNCH_STAGE\"", name);
}

/// `dllaunch stage` and its stage holder; false: nothing is staged.
data stage_lines(const LaunchPlan& plan) {
  if (!plan.stage.wanted()) return data{data::type::bool_false};
  data lines{data::type::object};
  lines.set("dllaunch", shell_quote(plan.paths.dllaunch));
  lines.set("nodes", plan.recovery.elastic()
                         ? "\"$SLURM_JOB_NUM_NODES\""
                         : std::to_string(plan.nodes + plan.recovery.spare_nodes));
  lines.set("no_kill",
            plan.recovery.spare_nodes > 0 || plan.recovery.elastic() ? " --no-kill" : "");
  lines.set("bind_stage", bind_stage(plan));
  lines.set("copy", shell_join(stage_options(plan)));
  return lines;
}

/// The words that name the variables to unset, wrapped into lines: SLURM_{A,B}.
std::vector<std::string> unset_lines(const LaunchPlan& plan) {
  auto options = plan.sbatch_extra;
  for (const auto& option : plan.sbatch) options.push_back(option.first);
  constexpr std::size_t width = 170;  // a long list in few lines
  constexpr std::string_view prefix = "SLURM_";
  std::vector<std::string> lines;
  for (auto name : contradicting_variables(options)) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (lines.empty() || lines.back().size() + 2 + name.size() > width)
      lines.push_back(fmt::format("{}{{{}", prefix, name));
    else
      lines.back() += fmt::format(",{}", name);
  }
  // Bash expands braces around two words or more.
  for (auto& line : lines) line += line.find(',') == std::string::npos ? ",}" : "}";
  lines.back() += " SLURMD_DEBUG \"${!SRUN_@}\"";
  return lines;
}

}  // namespace

std::vector<std::string> sbatch_arguments(const LaunchPlan& plan) {
  std::vector<std::string> arguments;
  for (const auto& [option, value] : plan.sbatch)
    arguments.push_back(value.empty() ? option : option + "=" + sbatch_quote(value));
  for (const auto& extra : plan.sbatch_extra) arguments.push_back(sbatch_quote(extra));
  return arguments;
}

namespace {

/// What the script does before ranks start in it: modules, environment, variables, setup, image.
data environment_fields(const LaunchPlan& plan) {
  data fields{data::type::object};
  fields.set("environment", kainjow::mustache::partial([] {
               std::string text(environment_template());
               text.pop_back();
               return text;
             }));
  fields.set("any_modules", flag(!plan.modules.empty()));
  fields.set("modules", list_of("name", quoted(plan.modules)));
  fields.set("activate", object_if(!plan.activate.empty(), "prefix", shell_quote(plan.activate)));
  fields.set("any_environment", flag(!plan.environment.empty()));
  fields.set("variables", environment_lines(plan));
  const auto setup = unix_lines(plan.setup);
  const bool sets_path = std::ranges::any_of(
      plan.environment, [](const auto& variable) { return variable.first == "PATH"; });
  fields.set("may_lose_slurm", flag(sets_path || !plan.modules.empty() || !setup.empty()));
  fields.set("setup", object_if(!setup.empty(), "lines", setup));
  fields.set("fetch", fetch_fields(plan));
  fields.set("umask", plan.share ? "027" : "077");
  fields.set("run_dir", shell_quote(plan.paths.run_dir) +
                            (plan.array ? "/task-\"$SLURM_ARRAY_TASK_ID\"" : ""));
  fields.set("work_dir", shell_quote(plan.paths.work_dir));
  return fields;
}

/// `sbatch`, `group`: of a component, which has no #SBATCH lines of its own.
std::string render(const LaunchPlan& plan, const std::string& run_id,
                   const std::vector<std::string>& sbatch, data group) {
  const bool by_mpirun = plan.start.kind() == Starter::mpirun;
  const auto train =
      plan.train_json.empty() ? std::string() : json_lines(Json::parse(plan.train_json));
  auto fields = environment_fields(plan);
  fields.set("sbatch", list_of("argument", sbatch));
  fields.set("group", std::move(group));
  // Array tasks have their own directories, which the script creates.
  fields.set("run_id", object_if(!run_id.empty() && !plan.array, "word", run_id));
  set_files(fields, plan.paths, run_id);
  fields.set("share", flag(plan.share));
  fields.set("unset", list_of("names", unset_lines(plan)));
  fields.set("plan", json_lines(to_json(plan)));
  fields.set("train", object_if(!train.empty(), "text", train));
  fields.set("pyxis", object_if(plan.pyxis, "dllaunch", shell_quote(plan.paths.dllaunch)));
  fields.set("mpirun", flag(by_mpirun));
  fields.set("dllaunch", shell_quote(plan.paths.dllaunch));
  fields.set("signal", plan.signal);
  // A script that is cancelled earlier must end.
  fields.set("early", object_if(plan.signal != "TERM", "signal", plan.signal));
  fields.set("asks", flag(plan.asks_ranks));
  fields.set("start", start_lines(plan));
  fields.set("stage", stage_lines(plan));
  kainjow::mustache::mustache script{std::string(job_sbatch_template())};
  return script.render(fields);
}

/// The word that ends a here-document: no line of the text is it.
std::string end_for(const std::string& text) {
  std::string end = "END_OF_COMPONENT";
  while (("\n" + text).find("\n" + end + "\n") != std::string::npos) end += "_";
  return end;
}

}  // namespace

std::string render_plain(const LaunchPlan& plan, const PlainScript& script) {
  auto fields = environment_fields(plan);
  fields.set("name", plan.name);
  fields.set("shape",
             fmt::format("{} on {}", counted(plan.ranks(), "rank"), counted(plan.nodes, "node")));
  data directives{data::type::list};
  std::string_view reason;
  for (const auto& [argument, why] : script.directives) {
    data one{data::type::object};
    one.set("argument", argument);
    if (why != reason) one.set("why", list_of("line", wrapped_lines(why, 96)));
    reason = why;
    directives.push_back(std::move(one));
  }
  fields.set("directives", std::move(directives));
  fields.set("unset", list_of("names", unset_lines(plan)));
  fields.set("folder", flag(script.own_folder));
  data train{data::type::bool_false};
  if (!plan.train_json.empty()) {
    train = data{"text", json_lines(Json::parse(plan.train_json))};
    train.set("dltrain", plan.paths.dltrain);
  }
  fields.set("train", std::move(train));
  fields.set("planned_on", plan.profile.empty() ? "" : " for " + plan.cluster);
  fields.set("before", list_of("line", script.before));
  fields.set("ranks", list_of("line", script.ranks));
  fields.set("options", list_of("line", script.options));
  fields.set("start", script.start);
  fields.set("given_up", list_of("line", script.given_up));
  kainjow::mustache::mustache text{std::string(plain_sbatch_template())};
  return text.render(fields);
}

std::string render_sbatch(const LaunchPlan& plan, const std::string& run_id) {
  return render(plan, run_id, sbatch_arguments(plan), flag(false));
}

std::string render_component(const ModularPlan& plan, std::size_t component,
                             const std::string& run_id) {
  data group{data::type::object};
  group.set("variable", het_group_variable);
  group.set("number", std::to_string(component));
  group.set("later", flag(component > 0));
  return render(plan.components[component].plan, run_id, {}, std::move(group));
}

std::string render_sbatch(const ModularPlan& plan, const std::string& run_id) {
  const auto& whole = plan.whole;
  data components{data::type::list};
  for (std::size_t i = 0; i < plan.components.size(); ++i) {
    const auto script = render_component(plan, i);
    data one{data::type::object};
    one.set("next", flag(i > 0));
    one.set("name", plan.components[i].name);
    one.set("sbatch", list_of("argument", sbatch_arguments(plan, i)));
    one.set("script", script);
    one.set("end", end_for(script));
    components.push_back(std::move(one));
  }
  data fields{data::type::object};
  fields.set("components", std::move(components));
  fields.set("run_dir", shell_quote(whole.paths.run_dir));
  fields.set("run_id", object_if(!run_id.empty(), "word", run_id));
  set_files(fields, whole.paths, run_id);
  fields.set("umask", whole.share ? "027" : "077");
  fields.set("share", flag(whole.share));
  fields.set("work_dir", shell_quote(whole.paths.work_dir));
  fields.set("plan", json_lines(to_json(whole)));
  fields.set("dllaunch", shell_quote(whole.paths.dllaunch));
  fields.set("early", object_if(whole.signal != "TERM", "signal", whole.signal));
  kainjow::mustache::mustache script{std::string(components_sbatch_template())};
  return script.render(fields);
}

}  // namespace dllaunch

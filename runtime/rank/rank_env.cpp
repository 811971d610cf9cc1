#include "runtime/rank/rank_env.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/rank/run_ownership.hpp"

namespace dllaunch {
namespace {

constexpr int most = 1 << 24;  // ranks or nodes; a larger number is garbage

using VariableNames = std::vector<std::string>;  // the first that is set counts

/// A launcher's variables. An empty list: it has none.
struct Dialect {
  std::string launcher;
  VariableNames rank, world_size, local_rank, local_world_size, node_rank, nodes;
};

const Dialect openmpi = {.launcher = "openmpi",
                         .rank = {"OMPI_COMM_WORLD_RANK"},
                         .world_size = {"OMPI_COMM_WORLD_SIZE"},
                         .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
                         .local_world_size = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
                         // OMPI_COMM_WORLD_NODE_RANK is a rank on the node, not the node's number.
                         .node_rank = {},
                         .nodes = {}};
const Dialect slurm = {.launcher = "slurm",
                       .rank = {"SLURM_PROCID"},
                       .world_size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
                       .local_rank = {"SLURM_LOCALID"},
                       .local_world_size = {},  // from SLURM_STEP_TASKS_PER_NODE
                       .node_rank = {"SLURM_NODEID"},
                       .nodes = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}};
// jsrun of IBM's LSF systems; with Spectrum MPI it also sets Open MPI's variables.
const Dialect jsrun = {.launcher = "jsrun",
                       .rank = {"JSM_NAMESPACE_RANK"},
                       .world_size = {"JSM_NAMESPACE_SIZE"},
                       .local_rank = {"JSM_NAMESPACE_LOCAL_RANK"},
                       .local_world_size = {"JSM_NAMESPACE_LOCAL_SIZE"},
                       .node_rank = {},
                       .nodes = {}};
// PMIx itself names only the rank; launchers that use it set PMI's variables for the rest.
const Dialect pmix = {.launcher = "pmix",
                      .rank = {"PMIX_RANK"},
                      .world_size = {"PMI_SIZE"},
                      .local_rank = {"PMI_LOCAL_RANK", "MPI_LOCALRANKID"},
                      .local_world_size = {"PMI_LOCAL_SIZE", "MPI_LOCALNRANKS"},
                      .node_rank = {},
                      .nodes = {}};
const Dialect pmi = {.launcher = "pmi",
                     .rank = {"PMI_RANK"},
                     .world_size = {"PMI_SIZE"},
                     .local_rank = {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
                     .local_world_size = {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
                     .node_rank = {},
                     .nodes = {}};
const Dialect torchrun = {.launcher = "torchrun",
                          .rank = {"RANK"},
                          .world_size = {"WORLD_SIZE"},
                          .local_rank = {"LOCAL_RANK"},
                          .local_world_size = {"LOCAL_WORLD_SIZE"},
                          .node_rank = {"GROUP_RANK"},
                          .nodes = {"GROUP_WORLD_SIZE"}};
const Dialect spawn = {.launcher = "dllaunch",
                       .rank = {"RANK"},
                       .world_size = {"WORLD_SIZE"},
                       .local_rank = {"LOCAL_RANK"},
                       .local_world_size = {"LOCAL_WORLD_SIZE"},
                       .node_rank = {},
                       .nodes = {}};

struct Number {
  std::string name;  // of the variable, for messages
  int value = 0;
};

Error bad(std::string what) {
  return {ErrorKind::bad_request, std::move(what), ""};
}

Result<int> parse_number(const std::string& name, std::string_view text, int least) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) {
    return bad(fmt::format("{} is \"{}\", not a number from {} to {}", name, text, least, most));
  }
  return value;
}

/// Reads the first of `names` that is set; nullopt if none is.
Result<std::optional<Number>> read(const EnvLookup& lookup, const VariableNames& names, int least) {
  for (const std::string& name : names) {
    const auto text = lookup(name);
    if (!text) continue;
    auto value = parse_number(name, *text, least);
    if (!value) return std::move(value).error();
    return std::optional(Number{name, *value});
  }
  return std::optional<Number>();
}

Result<Number> require(const EnvLookup& lookup, const VariableNames& names, int least,
                       const std::string& because) {
  auto found = read(lookup, names, least);
  if (!found) return std::move(found).error();
  if (*found) return **std::move(found);
  return bad(fmt::format("{} is set, but not {}", because, fmt::join(names, " or ")));
}

Result<Ok> check_inside(const Number& index, const Number& size) {
  if (index.value < size.value) return Ok{};
  return bad(fmt::format("{} is {}, but {} is {}", index.name, index.value, size.name, size.value));
}

/// Returns the number of tasks on node `node`, from "8(x4),3".
Result<Number> tasks_of_node(const std::string& name, const std::string& text, int node) {
  const auto damaged = [&] {
    return bad(fmt::format("{} is \"{}\", not like 8(x4),3", name, text));
  };
  std::string_view rest = text;
  int nodes = 0;
  while (true) {
    const auto comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    std::string_view repeat = "1";
    if (const auto open = item.find("(x"); open != std::string_view::npos) {
      if (!item.ends_with(')')) return damaged();
      repeat = item.substr(open + 2, item.size() - open - 3);
      item = item.substr(0, open);
    }
    const auto tasks = parse_number(name, item, 1);
    const auto times = parse_number(name, repeat, 1);
    if (!tasks || !times || nodes + *times > most) return damaged();
    nodes += *times;
    if (node < nodes) return Number{name, *tasks};
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return bad(fmt::format("SLURM_NODEID is {}, but {} is \"{}\"", node, name, text));
}

/// Slurm lists the local sizes of all nodes in one variable.
Result<Number> slurm_local_size(const EnvLookup& lookup, int node, int nodes, const Number& ranks) {
  for (const std::string name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    if (const auto text = lookup(name)) return tasks_of_node(name, *text, node);
  }
  if (nodes == 1) return ranks;
  return bad("SLURM_PROCID is set, but not SLURM_STEP_TASKS_PER_NODE");
}

Result<Ok> read_nodes(const EnvLookup& lookup, const Dialect& dialect, RankEnv& env) {
  auto node_rank = read(lookup, dialect.node_rank, 0);
  if (!node_rank) return std::move(node_rank).error();
  auto nodes = read(lookup, dialect.nodes, 1);
  if (!nodes) return std::move(nodes).error();
  if (*node_rank && *nodes) {
    auto inside = check_inside(**node_rank, **nodes);
    if (!inside) return inside;
  }
  env.node_rank = *node_rank ? (*node_rank)->value : -1;
  env.nodes = *nodes ? (*nodes)->value : 0;
  return Ok{};
}

Result<Ok> read_local(const EnvLookup& lookup, const Dialect& dialect, const Number& world_size,
                      RankEnv& env) {
  const bool only_one = world_size.value == 1;
  auto rank = read(lookup, dialect.local_rank, 0);
  if (!rank) return std::move(rank).error();
  if (!*rank && !only_one) {
    return require(lookup, dialect.local_rank, 0, dialect.rank.front()).error();
  }
  const Number local_rank = *rank ? **rank : Number{};

  auto size = dialect.launcher == "slurm" && !only_one
                  ? slurm_local_size(lookup, std::max(env.node_rank, 0), env.nodes, world_size)
              : only_one ? Result<Number>(world_size)
                         : require(lookup, dialect.local_world_size, 1, dialect.rank.front());
  if (!size) return std::move(size).error();
  if (auto inside = check_inside(local_rank, *size); !inside) return inside;
  if (size->value > world_size.value) {
    return bad(fmt::format("{} is {}, but {} is {}", size->name, size->value, world_size.name,
                           world_size.value));
  }
  env.local_rank = local_rank.value;
  env.local_world_size = size->value;
  return Ok{};
}

Result<RankEnv> read_dialect(const EnvLookup& lookup, const Dialect& dialect) {
  const std::string because = dialect.rank.front();
  auto rank = require(lookup, dialect.rank, 0, because);
  if (!rank) return std::move(rank).error();
  auto world_size = require(lookup, dialect.world_size, 1, because);
  if (!world_size) return std::move(world_size).error();
  if (auto inside = check_inside(*rank, *world_size); !inside) return std::move(inside).error();

  RankEnv env;
  env.launcher = dialect.launcher;
  env.rank = rank->value;
  env.world_size = world_size->value;
  if (auto nodes = read_nodes(lookup, dialect, env); !nodes) return std::move(nodes).error();
  auto local = read_local(lookup, dialect, *world_size, env);
  if (!local) return std::move(local).error();

  if (env.local_world_size == env.world_size && env.node_rank < 1 && env.nodes < 2) {
    env.node_rank = 0;
    env.nodes = 1;
  }
  return env;
}

bool any_set(const EnvLookup& lookup, std::initializer_list<const char*> names) {
  return std::ranges::any_of(names, [&](const char* name) { return lookup(name).has_value(); });
}

/// Whether srun's MPI plugins left their variables; --mpi=none leaves none.
bool slurm_started_mpi(const EnvLookup& lookup) {
  return any_set(lookup, {"PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_FD", "PMI_CONTROL_PORT"});
}

}  // namespace

EnvLookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::vector<std::string> process_variables() {
  std::vector<std::string> names;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable = *at;
    names.emplace_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

Result<RankEnv> read_rank_env(const EnvLookup& lookup) {
  const auto read_as = [&](const Dialect& dialect, bool mpi) {
    auto env = read_dialect(lookup, dialect);
    if (env) env->mpi = mpi;
    return env;
  };
  // torchrun's workers inherit the environment of their agent, which may be a Slurm step or an
  // mpirun.
  const auto run_id = lookup("TORCHELASTIC_RUN_ID");
  if (run_id && !run_id->starts_with(own_run_id) && any_set(lookup, {"RANK"})) {
    return read_as(torchrun, false);
  }
  if (any_set(lookup, {"OMPI_COMM_WORLD_RANK"})) return read_as(openmpi, true);
  // Its ranks may inherit the variables of a Slurm step.
  if (any_set(lookup, {spawn_variable})) return read_as(spawn, false);
  // A batch script has SLURM_PROCID=0 and the whole job's task count, but is not a task.
  if (any_set(lookup, {"SLURM_PROCID"}) && any_set(lookup, {"SLURM_STEP_ID", "SLURM_STEPID"})) {
    return read_as(slurm, slurm_started_mpi(lookup));
  }
  if (any_set(lookup, {"JSM_NAMESPACE_RANK"})) return read_as(jsrun, true);
  if (any_set(lookup, {"PMIX_RANK"})) return read_as(pmix, true);
  if (any_set(lookup, {"PMI_RANK"})) return read_as(pmi, true);
  if (any_set(lookup, {"RANK"}) && any_set(lookup, {"WORLD_SIZE"})) return read_as(torchrun, false);

  return RankEnv{};
}

Result<std::optional<std::int64_t>> read_fencing_token(const EnvLookup& lookup) {
  const auto text = lookup(fencing_token_variable);
  if (!text) return std::optional<std::int64_t>();
  const auto fencing_token = parse_fencing_token(*text);
  if (fencing_token) return fencing_token;
  return bad(fmt::format("{} is \"{}\", not a whole number from 1", fencing_token_variable, *text));
}

}  // namespace dllaunch

#include "launcher/cli/commands/guide/environment_variables.hpp"

namespace dllaunch {
namespace {

constexpr EnvironmentVariable variable_table[] = {
    {SetBy::user, "NO_COLOR", "", "dllaunch",
     "any text: no colour, but --color always overrides it"},
    {SetBy::user, "DLLAUNCH_PAGER, PAGER", "", "dllaunch",
     "a command that shows help and tables that are longer than the terminal [less]; empty: none"},
    {SetBy::user, "XDG_STATE_HOME", "", "dllaunch, dllaunch exec",
     "a folder; its dllaunch/ holds the list of your runs, the key of your ranks, the node book "
     "and the daemon's store [~/.local/state]"},
    {SetBy::user, "XDG_CONFIG_HOME", "", "dllaunch",
     "a folder; its dllaunch/clusters/ holds your cluster profiles [~/.config]"},
    {SetBy::user, "XDG_CACHE_HOME", "", "dllaunch, dltrain",
     "a folder; its dllaunch/ holds what `dllaunch probe` recorded and dltrain measured "
     "[~/.cache]"},
    {SetBy::user, "XDG_RUNTIME_DIR", "", "dllaunch daemon",
     "a folder; its dllaunch/ holds the daemon's socket where the store's file system has no "
     "sockets"},
    {SetBy::user, "DLLAUNCH_NODE_BOOK", "", "dllaunch, dllaunch supervise",
     "a file with what runs saw of nodes, which a group may share; empty: none is kept [the "
     "cluster profile's node_book, else dllaunch/nodes.jsonl below XDG_STATE_HOME]"},
    {SetBy::user, "DLLAUNCH_RENDEZVOUS_SECONDS", "", "dllaunch exec",
     "0 to 86400: how long ranks wait for each other; 0: not at all [300]"},
    {SetBy::user, "DLLAUNCH_START_TOKEN", "", "dllaunch exec",
     "a word that ranks of one start share, where home directories differ between nodes"},
    {SetBy::user, "DLLAUNCH_TRANSPORT", "", "dltrain, dllaunch exec",
     "auto, tcp or mpi: how ranks of the built-in trainer exchange messages [auto: MPI where they "
     "were started with it and there is an MPI module, else tcp]"},
    {SetBy::user, "DLLAUNCH_MPI_MODULE", "", "dltrain, dllaunch exec, dllaunch info",
     "the module through which dltrain calls MPI; empty: none "
     "[~/.local/lib/dllaunch/libdltrain_mpi.so, else the one that was installed]"},
    {SetBy::user, "DLLAUNCH_TCP_CONNECTIONS", "", "dltrain",
     "1 to 8: connections between two ranks over TCP; rank 0's counts. More help where a network "
     "limits each connection, as clouds do [1]"},
    {SetBy::user, "NCCL_SOCKET_IFNAME", "", "dltrain, dllaunch doctor --preflight",
     "the network interfaces that messages over TCP prefer, by NCCL's rules"},
    {SetBy::user, "DLLAUNCH_GPU_GRAPHS", "", "dltrain",
     "off: each GPU kernel is launched by itself"},
    {SetBy::user, "DLLAUNCH_FLIP_BIT", "", "dltrain",
     "a drill of runtime.integrity: RANK:STEP:PART:BIT flips a bit of weights, states or gradients "
     "on a run's first start"},
    {SetBy::user, "DLLAUNCH_NCCL_BLOCKING", "", "dltrain", "1: calls of NCCL block"},

    {SetBy::dllaunch, "DLLAUNCH_RUN_DIR", "dllaunch run, dllaunch exec",
     "dllaunch exec, supervise and doctor, your program", "the path of the run's directory"},
    {SetBy::dllaunch, "DLLAUNCH_GPUS", "dllaunch exec", "dltrain, your program",
     "PCI addresses of the rank's GPUs, with commas"},
    {SetBy::dllaunch, "DLLAUNCH_NIC", "dllaunch exec", "dltrain, your program",
     "the name of the rank's network card, as in the plan: hsn0, mlx5_0"},
    {SetBy::dllaunch, "DLLAUNCH_STAGE", "dllaunch run, the batch script",
     "dllaunch exec, your program", "the folder of copies on the node's own disk, with stage:"},
    {SetBy::dllaunch, "DLLAUNCH_GENERATION", "dllaunch run, dllaunch supervise",
     "dltrain, your program",
     "a number from 1: which start of the run this is; a later one is higher"},
    {SetBy::dllaunch, "DLLAUNCH_START", "dllaunch run --allocated", "dllaunch supervise",
     "the name of this start in the run's journal: an allocation may see several"},
    {SetBy::dllaunch, "DLLAUNCH_NODE_ORDER", "dllaunch supervise", "dllaunch exec",
     "the nodes in the order of their ranks, with binding.network_order"},
    {SetBy::dllaunch, "DLLAUNCH_NODE_LEAVES", "dllaunch supervise", "dltrain",
     "how many of them hang below each leaf of the network: gradients cross its uplinks once"},
    {SetBy::dllaunch, "DLLAUNCH_HEARTBEAT", "dllaunch supervise", "your program",
     "a file that a command of run: may touch to show that it is alive"},
    {SetBy::dllaunch, "DLLAUNCH_COMPONENT, DLLAUNCH_COMPONENTS", "dllaunch run, the batch script",
     "your program", "with components: the own component's name, and all names, with commas"},
    {SetBy::dllaunch, "DLLAUNCH_COMPONENT_NAME_HOSTS", "dllaunch run, the batch script",
     "your program", "of each component, NAME in upper case with _ for -: its hosts, with commas"},
    {SetBy::dllaunch, "DLLAUNCH_COMPONENT_NAME_NODES", "dllaunch run, the batch script",
     "your program", "the number of its hosts"},
    {SetBy::dllaunch, "DLLAUNCH_COMPONENT_NAME_RANKS", "dllaunch run, the batch script",
     "your program", "the number of its ranks"},
    {SetBy::dllaunch, "DLLAUNCH_COMPONENT_NAME_ADDRESS", "dllaunch run, the batch script",
     "your program", "its first host, where its rank 0 is"},
    {SetBy::dllaunch, "DLLAUNCH_COMPONENT_NAME_PORT", "dllaunch run, the batch script",
     "your program", "the first of 64 ports that its ranks may take; nothing reserves them"},
    {SetBy::dllaunch, "RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK", "dllaunch exec",
     "dltrain, your program", "the rank and the number of ranks, for frameworks"},
    {SetBy::dllaunch, "MASTER_ADDR, MASTER_PORT", "dllaunch exec", "your program",
     "where ranks meet; dllaunch chooses a free port"},
    {SetBy::dllaunch, "DLLAUNCH_START_SECRET", "dllaunch exec", "dltrain, your program",
     "a secret that the ranks of this start share, by which they can prove themselves"},
    {SetBy::dllaunch, "OMP_NUM_THREADS", "dllaunch exec, unless it is set", "dltrain, your program",
     "the number of the rank's cores"},
    {SetBy::dllaunch, "PYTHONUNBUFFERED", "dllaunch exec, unless it is set", "your program",
     "1: Python writes each line at once"},

    {SetBy::dllaunch_for_itself, "DLLAUNCH_DAEMON_SETTINGS", "dllaunch daemon start",
     "dllaunch-daemon", "the options of the daemon"},
    {SetBy::dllaunch_for_itself, "DLLAUNCH_HET_GROUP", "a component's script", "dllaunch supervise",
     "the component's number in its heterogeneous job"},
    {SetBy::dllaunch_for_itself, "DLLAUNCH_SPAWN", "dllaunch spawn", "dllaunch exec, dltrain",
     "its process id: it started the rank, whatever other launchers' variables say"},
    {SetBy::dllaunch_for_itself, "DLLAUNCH_PREFLIGHT_SECRET", "dllaunch supervise, dllaunch doctor",
     "dllaunch doctor", "a secret by which nodes that check each other's network prove themselves"},
};

}  // namespace

std::span<const EnvironmentVariable> environment_variables() {
  return variable_table;
}

}  // namespace dllaunch

#include "launcher/run/journal_events.hpp"

namespace dllaunch {
namespace {

constexpr EventField journal_head_table[] = {
    {"time", "Unix seconds"},
    {"event", "the name of the event"},
    {"job", "the Slurm job"},
    {"allocation", "how often Slurm had requeued the job"},
};

constexpr EventField attempt_fields[] = {
    {"attempt", "the number of this start in the allocation"},
    {"generation", "the number of this start of the run (DLLAUNCH_GENERATION)"},
    {"checkpoint", "the newest at the start; absent: none"},
    {"nodes", "of the ranks, where they may be fewer than planned (recovery.min_nodes)"},
    {"held", "nodes that the job had then, likewise"},
};

constexpr EventField ended_fields[] = {
    {"attempt", "as in `attempt`; this and the next two: absent if a later supervisor tells"},
    {"generation", "as in `attempt`"},
    {"seconds", "since the start"},
    {"cause",
     "completed, cancelled, superseded, time_limit, preempted, requeued, lost_node, stalled, "
     "unproven, failed, cut_short, not_started, storage, corrupted"},
    {"exit_code", "of srun or mpirun"},
    {"reason", "the same in words"},
    {"new_checkpoint", "whether one was completed since the start"},
    {"idle",
     "true: the ranks hung and ignored the request to save; absent otherwise, as are all "
     "that follow"},
    {"enough_nodes", "true: the job has enough nodes without the lost one"},
    {"asks", "true: the next start finds out whose numbers were wrong"},
    {"rank", "the rank that died first"},
    {"host", "its host"},
    {"signal", "that killed it"},
    {"rank_exit_code", "its exit code"},
    {"out_of_memory", "true: the kernel or Slurm killed it for its memory"},
    {"dead_seen", "when its death was seen, in Unix seconds"},
    {"words", "the lost node, or what was seen of a stall or a full disk"},
    {"error_rank", "the rank whose log has the first error"},
    {"first_error", "that line"},
};

constexpr EventField preflight_fields[] = {
    {"seconds", "that it took"},
    {"unfit", "the nodes that failed, as a host list; empty: none"},
    {"reason", "what they failed; absent: nothing"},
};

constexpr EventField waits_fields[] = {
    {"reason", "for what; empty: no longer, as after any later line but `preflight` and `nodes`"},
};

constexpr EventField nodes_fields[] = {
    {"order", "the nodes in the order of their ranks, as a host list"},
    {"network", "where the description of the network comes from; absent: no network"},
    {"levels",
     "by level of the network, lowest first: its name (level), and how many edges of a "
     "ring over the nodes leave one of its units in Slurm's order (given) and in the "
     "order of the ranks (ordered)"},
};

constexpr EventField decision_fields[] = {
    {"next", "restart, requeue, stop, or hold: wait for `dllaunch retry`, else stop"},
    {"status", "the end of the run if it stops here (`dllaunch explain STATUS`)"},
    {"exit_code", "for stop and hold"},
    {"wanted", "requeue: Slurm did not do it, so the run stopped; absent otherwise"},
    {"reason", "why"},
    {"exclude", "the nodes that a requeued job avoids; absent: none"},
    {"until", "for hold: when it ends, in Unix seconds"},
    {"beside", "what failed beside a modular job that completed; absent: nothing"},
    {"backoff", "seconds until the restart; absent: at once"},
};

constexpr EventField retry_fields[] = {
    {"generation", "of the start that was held"},
    {"by", "the process that asked for it, and its host"},
    {"changes", "of the job file; absent: none"},
};

constexpr EventField corrupted_fields[] = {
    {"generation", "of the start that found it"},
    {"step", "after which the ranks were compared"},
    {"since", "the last step before it on which all agreed"},
    {"what", "what differed: weights, states (of the optimizer), gradients (their sums)"},
    {"how", "how the rank was found, as in `corrupted` of events.jsonl"},
    {"rank", "whose numbers were wrong; absent, as the next two: not known"},
    {"host", "its host"},
    {"node", "Slurm's name of it; ranks start elsewhere where they can. Absent: no Slurm job"},
    {"line", "the message that was printed"},
};

constexpr EventKind journal_table[] = {
    {"attempt", "before the ranks start", attempt_fields},
    {"ended", "when they have ended", ended_fields},
    {"preflight", "after the nodes were checked", preflight_fields},
    {"waits", "when the ranks, or a requeue, wait for a node or for Slurm", waits_fields},
    {"nodes", "where ranks are numbered along the network, before they start", nodes_fields},
    {"decision", "what happens next, before it happens", decision_fields},
    {"retry", "when `dllaunch retry` ends a hold, before the ranks start", retry_fields},
    {"corrupted",
     "when ranks of the trainer held numbers that differed: for each whose numbers were wrong",
     corrupted_fields},
};

}  // namespace

std::span<const EventKind> journal_events() {
  return journal_table;
}

std::span<const EventField> fields_of_all_journal_events() {
  return journal_head_table;
}

}  // namespace dllaunch

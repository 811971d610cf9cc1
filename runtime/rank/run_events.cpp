#include "runtime/rank/run_events.hpp"

namespace dllaunch {
namespace {

constexpr EventField event_head_table[] = {
    {"time", "Unix seconds"},
    {"event", "the name of the event"},
    {"generation",
     "the number of the start that wrote the line (DLLAUNCH_GENERATION); absent if "
     "dltrain was started by hand. After a line with a higher number, lines with a lower one do "
     "not count"},
};

constexpr EventField start_fields[] = {
    {"ranks", "their number"},
    {"nodes", "their number; null: unknown"},
    {"model", "the name from the job file"},
    {"parameters", "their number"},
    {"global_batch", "images per step, over all ranks"},
    {"epochs", "in total, with those of earlier starts"},
    {"steps_per_epoch", "optimizer steps"},
    {"images", "in the training set"},
    {"val_images", "in the validation set"},
    {"backend", "what computes: onednn, cuda, hip, reference"},
    {"host", "the host of rank 0"},
    {"frozen", "parameters that are not trained"},
    {"init_from", "the file of the initial weights; null: none"},
    {"communicator", "what reduces gradients: hierarchical, nccl, ..."},
    {"transport", "how ranks exchange messages: tcp, mpi; null: one rank"},
};

constexpr EventField step_fields[] = {
    {"epoch", "counted from 1"},
    {"step", "optimizer steps since the training began, over all starts"},
    {"loss", "mean over the step's images of all ranks"},
    {"lr", "learning rate"},
    {"images_per_s", "images of all ranks since the previous step event, per second"},
    {"tokens_per_s", "the same in tokens; only where these are predicted"},
};

constexpr EventField epoch_fields[] = {
    {"epoch", "counted from 1"},
    {"loss", "mean over the epoch's training images"},
    {"accuracy", "on the training images; null: labels are no classes"},
    {"val_loss", "mean over the validation images; null: not validated"},
    {"val_accuracy", "likewise; this and the next five: null where it has no meaning"},
    {"seconds", "of the epoch, with validation"},
    {"images_per_s", "training images of all ranks per second of training"},
    {"images", "trained; fewer than in the set if the start resumed within the epoch"},
    {"val_top5_accuracy", "with more than five classes"},
    {"val_f1_macro", "mean of F1 over classes"},
    {"val_f1_micro", "F1 of all classes together, for images with several classes"},
    {"val_mean_absolute_error", "for labels that are real numbers"},
    {"val_mean_squared_error", "for labels that are real numbers"},
    {"step", "the last one of the epoch"},
    {"lr", "of that step"},
    {"skipped", "images that could not be read"},
    {"loss_scale", "after the last step; only with precision fp16"},
    {"skipped_steps", "steps whose gradients overflowed; only with precision fp16"},
    {"tokens_per_s",
     "images_per_s in tokens; this and the next two: only where these are predicted"},
    {"perplexity", "exp of the loss, which is the mean over tokens"},
    {"val_perplexity", "exp of val_loss; null: not validated"},
};

constexpr EventField ranks_fields[] = {
    {"epoch", "counted from 1"},
    {"steps", "of the epoch"},
    {"ranks", "their number"},
    {"quantiles", "which ones `seconds` holds: [0, 0.05, 0.5, 0.95, 1]"},
    {"seconds",
     "quantiles over ranks of data, forward, backward, update, between, communication, waiting "
     "and delayed"},
    {"slowest", "up to eight ranks with their host and seconds"},
    {"stragglers",
     "up to eight late ranks: rank, host, cause (data, compute, between), phase, seconds, median, "
     "delayed"},
    {"stragglers_total", "the number of late ranks"},
    {"notes", "what was printed about them"},
    {"peak_memory_bytes", "the most that a rank has had resident so far; null: unknown"},
    {"peak_memory_by_rank", "that of each rank; null: unknown, or more than 1,024 ranks"},
};

constexpr EventField gpus_fields[] = {
    {"epoch", "counted from 1"},
    {"ranks", "ranks that compute on a GPU"},
    {"answered", "those whose GPU reported something"},
    {"quantiles", "which ones the next nine hold, over ranks: [0, 0.05, 0.5, 0.95, 1]"},
    {"utilisation", "share of time in which a kernel ran"},
    {"memory_bytes", "the most that all processes on the GPU used"},
    {"power_w", "mean"},
    {"sm_clock_mhz", "mean"},
    {"lowest_clock_mhz", "the lowest under load"},
    {"temperature_c", "the highest"},
    {"throttled", "share of time in which the GPU was slowed down"},
    {"idle_between_steps", "share of time between an update and the next step's first kernel"},
    {"exposed_ms", "wait for gradients per step"},
    {"energy_j", "of all GPUs together, between their readings; null: unknown"},
    {"throttled_seconds", "by reason"},
    {"ecc_errors", "uncorrectable memory errors"},
    {"xids", "XID errors; null: unknown"},
    {"worst", "up to eight ranks with their own values"},
    {"notes", "what was printed about them"},
};

constexpr EventField checkpoint_fields[] = {
    {"path", "its folder"},
    {"epoch", "completed epochs in it"},
    {"step", "its step"},
    {"seconds_blocked", "for which training stood still"},
    {"seconds_total", "until it was on disk"},
    {"bytes", "its size"},
};

constexpr EventField checkpoint_failed_fields[] = {
    {"epoch", "completed epochs"},
    {"step", "the step that is not saved"},
    {"why", "the error"},
};

constexpr EventField checkpoint_refused_fields[] = {
    {"path", "its folder"},
    {"why", "what is wrong with it"},
};

constexpr EventField restart_fields[] = {
    {"reason", "`resume` from dltrain; from the supervisor, how the previous start ended"},
    {"from", "the checkpoint; null from the supervisor"},
    {"step", "of that checkpoint; null from the supervisor"},
    {"queue_seconds", "time in Slurm's queue; only from the supervisor; null: unknown"},
};

constexpr EventField stall_fields[] = {
    {"state",
     "late: others wait; over: it has come; gave up: the job ends; died: its process is gone"},
    {"late_ranks", "the ranks that others wait for"},
    {"collective", "what they wait in; null: none"},
    {"seconds", "waited so far"},
    {"line", "the message that was printed"},
};

constexpr EventField corrupted_fields[] = {
    {"step", "after which the ranks were compared"},
    {"since", "the last step that all agreed on"},
    {"what", "what differs: weights, states (of the optimizer), gradients (their sums)"},
    {"how",
     "how the ranks were found: majority; recomputed: the steps were computed again; pending: they "
     "will be; unknown: they were not found"},
    {"ranks", "whose numbers are wrong; empty: not known"},
    {"hosts", "of these ranks"},
    {"line", "the message that was printed"},
};

constexpr EventField pause_fields[] = {
    {"seconds", "for which rank 0 did not run, since the previous step or epoch event"},
};

constexpr EventField end_fields[] = {
    {"status", "completed, cancelled or failed"},
    {"seconds", "since this start began"},
};

constexpr EventKind event_table[] = {
    {"start", "dltrain, before the first step of each start", start_fields},
    {"step", "dltrain, after an optimizer step, at most ten a second", step_fields},
    {"epoch", "dltrain, after an epoch and its validation", epoch_fields},
    {"ranks", "dltrain, after each epoch: how ranks spent it", ranks_fields},
    {"gpus", "dltrain, after each epoch if ranks compute on GPUs: how these were used",
     gpus_fields},
    {"checkpoint", "dltrain, when a checkpoint is complete on disk", checkpoint_fields},
    {"checkpoint_failed", "dltrain, when a checkpoint could not be written",
     checkpoint_failed_fields},
    {"checkpoint_refused", "dltrain, at a start that skips a damaged checkpoint",
     checkpoint_refused_fields},
    {"restart",
     "the supervisor, before it starts the ranks again; dltrain, when it resumes from a "
     "checkpoint",
     restart_fields},
    {"stall", "dltrain, when a rank holds up the others, and when that is over", stall_fields},
    {"pause", "dltrain, after the job was suspended or stopped: no work was possible",
     pause_fields},
    {"corrupted", "dltrain, when ranks that must hold the same numbers do not", corrupted_fields},
    {"end", "dltrain, when the training ends; absent if it was killed", end_fields},
};

}  // namespace

std::span<const EventField> fields_of_all_events() {
  return event_head_table;
}

std::span<const EventKind> run_events() {
  return event_table;
}

}  // namespace dllaunch

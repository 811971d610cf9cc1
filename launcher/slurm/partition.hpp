// What Slurm says about nodes, partitions, reservations and accounts, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/slurm/gres.hpp"

namespace dllaunch {

/// Identical nodes of one partition.
struct NodeType {
  std::vector<std::string> hosts = {};
  int cpus = 0;  // in Slurm's unit: hardware threads if ThreadsPerCore > 1
  int sockets = 1;
  int cores_per_socket = 1;
  int threads_per_core = 1;
  std::uint64_t memory_mib = 0;
  int gpus = 0;
  std::string gpu_type = {};  // "h100", empty if untyped; the first of several
  std::vector<std::string> features = {};
  /// All GPU types of a node; `gpus` counts those that apply when no type is requested.
  std::vector<GpuGres> gpu_gres = {};
};

/// Whether all but hosts and features is equal.
bool same_hardware(const NodeType& a, const NodeType& b);

/// Whether Slurm treats two accounts, QOS or users as the same: it ignores case.
bool same_name(std::string_view a, std::string_view b);

/// Who has access: everyone or only those allowed, except those denied.
struct AccessList {
  std::vector<std::string> allowed = {};  // empty: all
  std::vector<std::string> denied = {};

  /// Ignores case, as Slurm does.
  bool admits(const std::string& name) const;
  bool operator==(const AccessList&) const = default;
};

struct Partition {
  std::string name = {};
  bool is_default = false;
  bool up = true;
  std::optional<int> max_minutes = {};  // nullopt: no limit
  std::vector<NodeType> node_types = {};
  std::string state = "UP";                 // UP | DOWN (queues only) | DRAIN, INACTIVE (refuses)
  std::optional<int> default_minutes = {};  // nullopt: max_minutes
  int min_nodes = 0;                        // per job
  std::optional<int> max_nodes = {};        // per job; nullopt: no limit
  AccessList accounts = {};
  AccessList qos = {};
  AccessList groups = {};
};

struct Reservation {
  std::string name = {};
  bool active = false;
  std::int64_t start = 0;  // Unix seconds
  std::int64_t end = 0;
  std::vector<std::string> hosts = {};
  std::string partition = {};              // empty: any
  std::vector<std::string> users = {};     // "-name" excludes a user
  std::vector<std::string> accounts = {};  // the same
  std::vector<std::string> groups = {};
  std::vector<std::string> flags = {};

  bool operator==(const Reservation&) const = default;
};

/// Accounts to which a user may charge a job.
struct Association {
  std::string account = {};
  std::string partition = {};         // empty: any
  std::vector<std::string> qos = {};  // empty: Slurm did not say

  bool operator==(const Association&) const = default;
};

}  // namespace dllaunch

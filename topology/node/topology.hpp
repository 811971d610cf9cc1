// Node: what a node has, as an immutable value: CPUs, caches, NUMA nodes, GPUs and NICs.
// Does not know where the value comes from (hwloc, a file, a synthetic string) or what it is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/id_set.hpp"

namespace dllaunch {

/// All CPU and NUMA numbers are operating-system (physical) indexes.
struct NumaNode {
  int index = 0;
  IdSet cpus = {};  // empty for memory without CPUs
  std::uint64_t memory_bytes = 0;
  std::string kind = "dram";  // dram | hbm | gpu
};

struct Core {
  IdSet cpus = {};        // its hardware threads, without offline and disallowed ones
  int package = 0;        // -1: unknown
  int l3 = -1;            // ordinal of its L3 in Topology order, -1: none
  bool opens_l3 = false;  // the first core of its L3, counting disallowed and offline ones
};

/// The connection from one GPU to another.
struct GpuLink {
  std::string pci = {};   // the other GPU
  int partition = -1;     // and its partition, as in Gpu::partition
  std::string kind = {};  // nvlink | xgmi | pcie
  int count = 0;          // parallel links; 0: unknown, or pcie
  std::string path = {};  // pix | pxb | phb | node | sys: the path of a PCIe copy; may be empty
  bool p2p = false;       // peer access to the other's memory
};

struct Gpu {
  int index = 0;          // the vendor runtime's (nvmlN, rsmiN, zeN, cudaN) if seen, else PCI order
  std::string name = {};  // "AMD Instinct MI250X", may be empty
  std::string vendor = {};    // nvidia | amd | intel | other (also their sort order)
  std::string pci = {};       // "0000:c1:00.0", lower case, with domain
  int partition = -1;         // inside one PCI device (MIG, CPX); -1: the whole device
  IdSet cpus = {};            // local CPUs; may be empty after a restriction
  IdSet numa = {};            // NUMA nodes next to it, without those of kind "gpu"
  int package = -1;           // its socket, -1: unknown; locates it if `cpus` is empty
  std::string pci_path = {};  // host bridge and bridges above it, "0000:c0/0000:c0:01.1"
  // Empty unless the vendor's management library was queried (gpu_inventory.hpp).
  std::string uuid = {};  // "GPU-...", "MIG-...", as in VISIBLE_DEVICES
  std::string mode = {};  // "MIG", "SPX/NPS1", "CPX/NPS4"
  std::vector<GpuLink> links = {};
};

struct Nic {
  std::string name = {};  // "hsn2", "mlx5_0", "eth0"
  std::string pci = {};   // as Gpu::pci; empty for virtual ones
  IdSet numa = {};
  IdSet cpus = {};
  bool fabric = false;        // InfiniBand, RoCE, Slingshot, EFA: preferred for communication
  std::string pci_path = {};  // as Gpu::pci_path
};

struct Topology {
  int packages = 0;
  std::vector<NumaNode> numa = {};  // by index
  std::vector<Core> cores = {};     // by first CPU
  std::vector<Gpu> gpus = {};       // by (vendor, index)
  std::vector<Nic> nics = {};       // by name
  IdSet allowed_cpus = {};          // what this process may use; by default every online CPU
  IdSet allowed_numa = {};
  IdSet present_cpus = {};  // every CPU of the node, including offline and disallowed ones
  std::string source = {};  // "this machine", "file x.xml", "synthetic ..."; for messages

  IdSet cpus() const;                         // all CPUs of all cores
  IdSet numa_of(const IdSet& cpu_set) const;  // nodes with CPUs in `cpu_set`
};

}  // namespace dllaunch

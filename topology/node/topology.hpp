// What a node is: a value. Read from hwloc, from a file or from a synthetic string; never changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/id_set.hpp"

namespace dllaunch {

/// All CPU and NUMA numbers are operating-system (physical) indexes.
struct NumaNode {
  int index = 0;
  IdSet cpus = {};  // empty for memory without CPUs of its own
  std::uint64_t memory_bytes = 0;
  std::string kind = "dram";  // dram | hbm | gpu
};

struct Core {
  IdSet cpus = {};        // its hardware threads, offline and disallowed ones left out
  int package = 0;        // package number, -1 unknown
  int l3 = -1;            // ordinal of its L3 in Topology order, -1 when it has none
  bool opens_l3 = false;  // the first core of its L3, disallowed and offline ones counted
};

/// What joins a GPU to another one, seen from the first.
struct GpuLink {
  std::string pci = {};   // the other GPU
  int partition = -1;     // and its partition, as Gpu::partition
  std::string kind = {};  // nvlink | xgmi | pcie
  int count = 0;          // links side by side; 0 unknown, and for pcie
  std::string path =
      {};            // pix | pxb | phb | node | sys, what a copy over PCIe passes; may be empty
  bool p2p = false;  // one may read the other's memory
};

struct Gpu {
  int index = 0;  // the vendor runtime's own (nvmlN, rsmiN, zeN, cudaN) where seen, else PCI order
  std::string name = {};      // "AMD Instinct MI250X", may be empty
  std::string vendor = {};    // nvidia | amd | intel | other (this is also their order)
  std::string pci = {};       // "0000:c1:00.0", lower case, with domain
  int partition = -1;         // inside one PCI device (MIG, CPX); -1: the whole device
  IdSet cpus = {};            // CPUs local to it; may be empty after a restriction
  IdSet numa = {};            // NUMA nodes local to it, its own memory left out
  int package = -1;           // socket it hangs off, -1 unknown: where to look when `cpus` is empty
  std::string pci_path = {};  // host bridge and bridges above it, "0000:c0/0000:c0:01.1"
  // Where the vendor's management library was asked (gpu_inventory.hpp), else empty.
  std::string uuid = {};  // "GPU-...", "MIG-..." as VISIBLE_DEVICES takes it
  std::string mode = {};  // "MIG", "SPX/NPS1", "CPX/NPS4"
  std::vector<GpuLink> links = {};
};

struct Nic {
  std::string name = {};  // "hsn2", "mlx5_0", "eth0"
  std::string pci = {};   // as Gpu::pci, empty for virtual ones
  IdSet numa = {};
  IdSet cpus = {};
  bool fabric = false;        // InfiniBand, RoCE, Slingshot, EFA: what ranks should talk over
  std::string pci_path = {};  // as Gpu::pci_path
};

struct Topology {
  int packages = 0;
  std::vector<NumaNode> numa = {};  // by index
  std::vector<Core> cores = {};     // by first CPU
  std::vector<Gpu> gpus = {};       // by (vendor, index)
  std::vector<Nic> nics = {};       // by name
  IdSet allowed_cpus = {};  // what this process may use; every online CPU where nothing restricts
  IdSet allowed_numa = {};
  IdSet present_cpus = {};  // every CPU of the node, offline and disallowed ones too
  std::string source = {};  // "this machine", "file x.xml", "synthetic ..."; for messages

  IdSet cpus() const;                         // all CPUs of all cores
  IdSet numa_of(const IdSet& cpu_set) const;  // nodes with CPUs among these
};

}  // namespace dllaunch

#include "tests/topology/discovery/xml_node.hpp"

#include <cstdio>

namespace dllaunch {

std::string xml_node(const std::string& devices, const std::string& machine,
                     const std::string& version) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"" + version +
                    "\">\n<object type=\"Machine\" os_index=\"0\" cpuset=\"0xf\" "
                    "complete_cpuset=\"0xf\" allowed_cpuset=\"0xf\" nodeset=\"0x1\" "
                    "complete_nodeset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\">\n";
  if (!machine.empty()) xml.replace(xml.find("allowed_cpuset=\"0xf\""), 20, machine);
  const auto sets = [](const char* mask) {
    return std::string(" cpuset=\"") + mask + "\" complete_cpuset=\"" + mask +
           "\" nodeset=\"0x1\" complete_nodeset=\"0x1\" ";
  };
  xml += "<object type=\"Package\" os_index=\"0\"" + sets("0xf") + "gp_index=\"2\">\n";
  xml += "<object type=\"NUMANode\" os_index=\"0\"" + sets("0xf") +
         "gp_index=\"3\" local_memory=\"1073741824\"/>\n";
  xml += "<object type=\"L3Cache\"" + sets("0xf") +
         "gp_index=\"4\" cache_size=\"1024\" depth=\"3\" cache_linesize=\"64\" "
         "cache_associativity=\"16\" cache_type=\"0\">\n";
  for (int core = 0; core < 2; ++core) {
    const auto* mask = core == 0 ? "0x5" : "0xa";
    xml += "<object type=\"Core\" os_index=\"" + std::to_string(core) + "\"" + sets(mask) +
           "gp_index=\"" + std::to_string(10 + core) + "\">\n";
    for (int thread = 0; thread < 2; ++thread) {
      const int cpu = core + 2 * thread;
      constexpr const char* masks[] = {"0x1", "0x2", "0x4", "0x8"};
      xml += "<object type=\"PU\" os_index=\"" + std::to_string(cpu) + "\"" + sets(masks[cpu]) +
             "gp_index=\"" + std::to_string(20 + cpu) + "\"/>\n";
    }
    xml += "</object>\n";
  }
  xml += "</object>\n";
  if (!devices.empty())
    xml +=
        "<object type=\"Bridge\" gp_index=\"30\" bridge_type=\"0-1\" depth=\"0\" "
        "bridge_pci=\"0000:[00-ff]\">\n" +
        devices + "</object>\n";
  return xml + "</object>\n</object>\n</topology>\n";
}

std::string pci_device(int bus, const std::string& type, const std::string& inside, int domain) {
  char address[32];
  std::snprintf(address, sizeof address, "%04x:%02x:00.0", static_cast<unsigned>(domain),
                static_cast<unsigned>(bus));
  return "<object type=\"PCIDev\" gp_index=\"" + std::to_string(100 + 256 * domain + bus) +
         "\" pci_busid=\"" + address + "\" pci_type=\"" + type +
         " [0000:0000] 00\" pci_link_speed=\"0.0\">\n" + inside + "</object>\n";
}

std::string osdev(const std::string& name, int type, const std::string& inside) {
  static int unique = 100000;
  return "<object type=\"OSDev\" gp_index=\"" + std::to_string(++unique) + "\" name=\"" + name +
         "\" osdev_type=\"" + std::to_string(type) + "\">" + inside + "</object>\n";
}

}  // namespace dllaunch

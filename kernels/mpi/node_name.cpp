#include "kernels/mpi/node_name.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace windtunnel {

std::string boot_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  file >> name;
  return name;
}

std::string node_name() {
  std::error_code none;
  return boot_name() + " " + std::filesystem::read_symlink("/proc/self/ns/net", none).string();
}

}  // namespace windtunnel

#include "calibrate/machine.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace windtunnel {

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const bool names = line.starts_with("model name") || line.starts_with("Model");
    const std::size_t colon = line.find(": ");
    if (names && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string system_name() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

}  // namespace

Machine this_machine() {
  const auto pages = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  return {.processor = processor_name(),
          .cores = usable_cores(),
          .memory_bytes = std::max<std::int64_t>(0, pages) * std::max<std::int64_t>(0, page),
          .kernel = system_name(),
          .compiler = fmt::format("{}, glibc {}", __VERSION__, ::gnu_get_libc_version())};
}

std::string machine_line(const Machine& machine, const std::string& numbers) {
  return fmt::format("{}, {} cores, {}, kernels of {}", machine.processor, machine.cores,
                     machine.compiler, numbers);
}

std::vector<std::pair<std::string, std::string>> fingerprint(const Machine& machine) {
  return {{"processor", machine.processor},
          {"cores", std::to_string(machine.cores)},
          {"memory_bytes", std::to_string(machine.memory_bytes)},
          {"system", machine.kernel},
          {"compiler", machine.compiler}};
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

}  // namespace windtunnel

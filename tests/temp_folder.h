#pragma once
// A folder of a test's own: no other test, build or user has the same one.

#include <stdlib.h>  // mkdtemp

#include <filesystem>
#include <stdexcept>
#include <string>

namespace windtunnel {

/// A new empty folder below the system's folder for temporary files. The caller removes it.
inline std::filesystem::path make_temp_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "windtunnel.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder like " + name);
  return name;
}

}  // namespace windtunnel

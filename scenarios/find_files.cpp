#include <algorithm>
#include <filesystem>

#include "scenarios/loader.h"

namespace windtunnel {

namespace fs = std::filesystem;

namespace {

bool is_yaml(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

}  // namespace

std::vector<std::string> find_scenario_files(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) refuse_file(path, "no such file or folder", "");
  if (!fs::is_directory(status)) return {path};
  std::vector<std::string> files;
  fs::recursive_directory_iterator entry(path, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (is_yaml(entry->path()) && fs::is_regular_file(entry->path(), ignored)) {
      files.push_back(entry->path().string());
    }
  }
  if (error) refuse_file(path, "cannot be read: " + error.message(), "");
  if (files.empty()) refuse_file(path, "holds no scenario files", "files end in .yaml or .yml");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace windtunnel

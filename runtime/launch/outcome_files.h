#pragma once
// The files of a run in its private folder.

#include <string>

namespace windtunnel {

inline std::string status_path(const std::string& folder) {
  return folder + "/status";
}
inline std::string outcome_path(const std::string& folder, int rank) {
  return folder + "/outcome." + std::to_string(rank);
}
inline std::string samples_path(const std::string& folder) {
  return folder + "/samples";
}
inline std::string slow_path(const std::string& folder) {
  return folder + "/slow";
}
inline std::string output_path(const std::string& folder) {
  return folder + "/output";
}

}  // namespace windtunnel

#pragma once
// The rows of a table that has one row per pipeline stage, kept to one screen: neighbours that read
// the same become one row ("2-13"), and of a long rest only the ends and the marked stages stay.

#include <string>
#include <vector>

namespace windtunnel {

struct StageRow {
  int stage = 0;
  std::vector<std::string> cells;  // all columns but the stage's own
  bool marked = false;             // the fullest or the slowest: never left out, gets a "*"
};

/// Most rows a table keeps.
constexpr std::size_t kMostStageRows = 12;

/// Rows with the stage column in front; a row "..." stands where stages were left out.
std::vector<std::vector<std::string>> fold_stage_rows(const std::vector<StageRow>& stages);

}  // namespace windtunnel

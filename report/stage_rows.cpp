#include "report/stage_rows.h"

namespace windtunnel {

namespace {

struct Run {
  int first = 0, last = 0;
  const StageRow* row = nullptr;
};

std::vector<Run> runs_of(const std::vector<StageRow>& stages) {
  std::vector<Run> runs;
  for (const StageRow& row : stages) {
    const bool joins = !runs.empty() && !row.marked && !runs.back().row->marked &&
                       runs.back().row->cells == row.cells && runs.back().last + 1 == row.stage;
    if (joins) {
      runs.back().last = row.stage;
    } else {
      runs.push_back({.first = row.stage, .last = row.stage, .row = &row});
    }
  }
  return runs;
}

std::string label_of(const Run& run) {
  std::string label = std::to_string(run.first);
  if (run.last != run.first) label += "-" + std::to_string(run.last);
  return label + (run.row->marked ? "*" : "");
}

}  // namespace

std::vector<std::vector<std::string>> fold_stage_rows(const std::vector<StageRow>& stages) {
  constexpr std::size_t kEnds =
      kMostStageRows / 2 - 1;  // at each end; the rest is for marks and dots
  const std::vector<Run> runs = runs_of(stages);
  std::vector<std::vector<std::string>> rows;
  bool dots = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool kept = runs.size() <= kMostStageRows || i < kEnds || i + kEnds >= runs.size() ||
                      runs[i].row->marked;
    if (!kept) {
      if (!dots) rows.push_back({"..."});
      dots = true;
      continue;
    }
    dots = false;
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(label_of(runs[i]));
    cells.insert(cells.end(), runs[i].row->cells.begin(), runs[i].row->cells.end());
  }
  return rows;
}

}  // namespace windtunnel

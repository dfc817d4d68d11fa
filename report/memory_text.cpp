#include "report/memory_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "core/unit_text.h"
#include "report/stage_rows.h"
#include "report/table_scale.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

/// A column of the table and the categories it gathers; the last column takes every other one.
struct CategoryColumn {
  const char* head;
  std::span<const std::string_view> categories;
};

constexpr std::string_view kWeights[] = {"weights"};
constexpr std::string_view kGrads[] = {"grads"};
constexpr std::string_view kOptimizer[] = {"master_weights", "optimizer_states"};
constexpr std::string_view kActivations[] = {"activations", "norm_stats", "logits", "inputs"};
constexpr CategoryColumn kColumns[] = {
    {"weights", kWeights},    {"grads", kGrads}, {"optimizer", kOptimizer},
    {"activ.", kActivations}, {"other", {}},
};
/// Categories outside the allocator: in peak_device, not in peak_allocated.
constexpr std::string_view kOutside[] = {"context", "nccl", "other"};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::size_t column_of(std::string_view category) {
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    if (holds(kColumns[i].categories, category)) return i;
  }
  return std::size(kColumns) - 1;
}

std::string size_text(std::int64_t bytes) {
  return format_bytes({static_cast<double>(bytes)});
}

std::string probability_text(double probability) {
  if (probability < 0.001) return "below 0.1 %";
  if (probability > 0.999) return "above 99.9 %";
  return fmt::format("{:.3g} %", 100.0 * probability);
}

const StageMemory* fullest_of(const MemoryAnswer& memory) {
  for (const StageMemory& stage : memory.stages) {
    if (stage.stage == memory.fullest_stage) return &stage;
  }
  return memory.stages.empty() ? nullptr : &memory.stages.front();
}

std::string largest_text(const StageMemory& stage) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, stage.largest.size()); ++i) {
    const auto& [name, bytes] = stage.largest[i];
    text += (i > 0 ? ", " : "") + name + " " + size_text(bytes);
  }
  return text;
}

/// What offloading takes of the fullest node's memory, against what it has.
std::string host_text(const MemoryAnswer& memory) {
  if (memory.host_node_bytes == 0) return "";
  std::string text = "offloaded: " + size_text(memory.host_node_bytes) +
                     " of the host's memory on "
                     "the fullest node";
  if (memory.host_capacity_bytes > 0) {
    text += ", which has " + size_text(memory.host_capacity_bytes);
    if (memory.host_node_bytes > memory.host_capacity_bytes) text += ": does not fit";
  }
  return wrap_text(text, "host       ");
}

}  // namespace

bool is_outside_allocator(std::string_view category) {
  return holds(kOutside, category);
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits:
      return "fits";
    case Verdict::tight:
      return "tight";
    case Verdict::oom:
      return "oom";
  }
  return "?";
}

std::string verdict_text(const MemoryAnswer& memory) {
  const StageMemory* fullest = fullest_of(memory);
  if (!fullest) return "";
  if (memory.capacity_bytes == 0) {  // measured, on a device that sets no limit
    return wrap_text(fmt::format("stage {} took {} at its peak", fullest->stage,
                                 size_text(fullest->peak_device_bytes)),
                     "memory     ");
  }
  const std::int64_t margin = memory.capacity_bytes - fullest->peak_device_bytes;
  const char* verdict = memory.verdict == Verdict::oom ? "does not fit" : name_of(memory.verdict);
  std::string text = wrap_text(
      fmt::format("{}: stage {} needs {} of {} ({} {}); probability of running out {}", verdict,
                  fullest->stage, size_text(fullest->peak_device_bytes),
                  size_text(memory.capacity_bytes), size_text(std::abs(margin)),
                  margin < 0 ? "too much" : "free", probability_text(memory.oom_probability)),
      "memory     ");
  if (!memory.breaking.empty()) text += wrap_text(memory.breaking, "breaks at  ");
  if (!fullest->moment.empty()) text += wrap_text(fullest->moment, "peak at    ");
  const std::string largest = largest_text(*fullest);
  if (!largest.empty()) text += wrap_text(largest, "largest    ");
  return text + host_text(memory);
}

std::string stage_memory_text(const MemoryAnswer& memory) {
  if (memory.stages.empty()) return "";
  std::int64_t most = 0;
  for (const StageMemory& stage : memory.stages) most = std::max(most, stage.peak_device_bytes);
  const SizeScale scale = size_scale(most);
  std::vector<StageRow> rows;
  for (const StageMemory& stage : memory.stages) {
    std::vector<std::int64_t> sums(std::size(kColumns));
    for (const auto& [category, bytes] : stage.by_category) {
      if (!holds(kOutside, category)) sums[column_of(category)] += bytes;
    }
    StageRow& row = rows.emplace_back();
    row.stage = stage.stage;
    row.marked = memory.stages.size() > 1 && stage.stage == memory.fullest_stage;
    for (const std::int64_t bytes : sums) row.cells.push_back(scale(bytes));
    row.cells.push_back(scale(stage.peak_allocated_bytes));
    row.cells.push_back(scale(stage.peak_reserved_bytes));
    row.cells.push_back(scale(stage.peak_device_bytes));
  }
  ReportTable table{.columns = {{"stage"}}, .rows = fold_stage_rows(rows)};
  for (const CategoryColumn& column : kColumns) table.columns.push_back({column.head});
  table.columns.push_back({"allocated"});
  table.columns.push_back({"reserved"});
  table.columns.push_back({"device"});
  const char* mark = memory.stages.size() > 1 ? "; * fullest" : "";
  return fmt::format("Memory by stage at its peak, {} (device: with context, nccl{})\n", scale.name,
                     mark) +
         render_table(table, "  ");
}

}  // namespace windtunnel

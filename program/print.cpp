#include "program/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/unit_text.h"
#include "program/collective_counts.h"
#include "program/mesh.h"
#include "program/op_names.h"
#include "program/schedule_grid.h"
#include "program/text_table.h"

namespace windtunnel {

namespace {

constexpr int kShownGroups = 2;    // of each communicator: enough to see its stride
constexpr int kShownMembers = 16;  // of each group

std::string mesh_text(const Mesh& mesh) {
  const Grid grid = dense_grid(mesh);
  std::string sizes, order;
  for (const Axis axis : {kAxisTp, kAxisCp, kAxisDp, kAxisPp}) {
    if (grid.size(axis) > 1)
      sizes += fmt::format("{}{} {}", sizes.empty() ? "" : " x ", axes_text(axis), grid.size(axis));
  }
  for (const Axis axis : mesh.order) {
    if (grid.size(axis) > 1) order += (order.empty() ? "" : "-") + axes_text(axis);
  }
  return fmt::format("{} ranks{}{}\n", mesh.ranks(), sizes.empty() ? "" : ": " + sizes,
                     order.empty() ? "" : ", order " + order);
}

std::string group_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == kShownMembers) return text + " ..]";
    text += (i == 0 ? "[" : " ") + std::to_string(ranks[i]);
  }
  return text + "]";
}

/// How many groups the communicator has: one per setting of the axes it does not span.
std::int64_t group_count(const Mesh& mesh, const Comm& comm) {
  const Grid grid = dense_grid(mesh);
  std::int64_t count = 1;
  for (const Axis axis : mesh.order) {
    if ((comm.axes & axis) == 0) count *= grid.size(axis);
  }
  return count;
}

/// The axes of the communicator that have more than one rank.
std::uint8_t wide_axes(const Mesh& mesh, const Comm& comm) {
  const Grid grid = dense_grid(mesh);
  unsigned axes = 0;
  for (const Axis axis : mesh.order) {
    if ((comm.axes & axis) != 0 && grid.size(axis) > 1) axes |= axis;
  }
  return static_cast<std::uint8_t>(axes);
}

std::string stages_text(const Comm& comm) {
  if (comm.stage_pair < 0) return "";
  return comm.stage_pair == 0 ? ", ends" : ", a pair";
}

std::string groups_text(const Program& p) {
  TextTable table({"communicator", "axes", "members", "groups", "first groups"});
  for (const Comm& comm : p.comms) {
    const std::int64_t count = group_count(p.mesh, comm);
    std::string groups;
    std::int64_t shown = 0;
    for (int rank = 0; shown < std::min<std::int64_t>(count, kShownGroups); ++rank) {
      const std::vector<int> ranks = members(p.mesh, comm, rank);
      if (ranks.empty() || ranks.front() != rank) continue;
      groups += (groups.empty() ? "" : " ") + group_text(ranks);
      ++shown;
    }
    table.add({comm.name, axes_text(wide_axes(p.mesh, comm)) + stages_text(comm),
               format_count(group_size(p.mesh, comm)), format_count(count),
               groups + (count > shown ? " .." : "")});
  }
  return table.text();
}

std::string chunk_text(const Chunk& chunk) {
  std::string text = fmt::format("{}:", chunk.global_chunk);
  if (chunk.has_embedding) text += " embedding";
  if (chunk.layer_end == chunk.layer_begin + 1) text += fmt::format(" {}", chunk.layer_begin);
  if (chunk.layer_end > chunk.layer_begin + 1)
    text += fmt::format(" {}-{}", chunk.layer_begin, chunk.layer_end - 1);
  if (chunk.has_head) text += " head";
  return text;
}

std::string stages_text(const Program& p) {
  TextTable table({"stage", "parameters/rank", "weights B", "grads B", "states B", "buckets",
                   "chunks (number: layers)"});
  for (std::size_t r = 0; r < p.roles.size(); ++r) {
    std::int64_t parameters = 0, weights = 0, grads = 0, states = 0, buckets = 0;
    for (const Slot& slot : p.roles[r].slots) {
      if (slot.category == Category::weights && slot.param != kNone) parameters += slot.elements;
      if (slot.parent != kNone || slot.space != Space::statics) continue;
      if (slot.category == Category::weights) weights += slot.bytes();
      if (slot.category == Category::weights) ++buckets;
      if (slot.category == Category::grads) grads += slot.bytes();
      if (slot.category == Category::master_weights || slot.category == Category::optimizer_states)
        states += slot.bytes();
    }
    std::string chunks;
    for (const Chunk& chunk : p.roles[r].chunks)
      chunks += (chunks.empty() ? "" : "; ") + chunk_text(chunk);
    table.add({std::to_string(r), format_count(parameters), format_count(weights),
               format_count(grads), format_count(states), format_count(buckets), chunks});
  }
  return table.text();
}

/// Stages in a row whose rows are equal, as "0" or "1-6".
struct StageRun {
  std::size_t first = 0, last = 0;

  std::string text() const {
    return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }
};

template <class Row>
std::vector<StageRun> equal_stages(const std::vector<std::vector<Row>>& by_stage) {
  std::vector<StageRun> result;
  for (std::size_t r = 0; r < by_stage.size(); ++r) {
    if (!result.empty() && by_stage[result.back().first] == by_stage[r]) {
      result.back().last = r;
    } else {
      result.push_back({r, r});
    }
  }
  return result;
}

/// A transfer with its peer given by its distance, so that stages compare.
using TransferRow = std::pair<int, TransferCount>;

std::string collectives_text(const Program& p, const std::vector<CollectiveCounts>& counts) {
  std::vector<std::vector<CollectiveCount>> by_stage;
  for (const CollectiveCounts& c : counts) by_stage.push_back(c.collectives);
  TextTable table(
      {"stage", "communicator", "collective", "reduce", "phase", "type", "count", "bytes"});
  for (const StageRun& run : equal_stages(by_stage)) {
    for (const CollectiveCount& c : by_stage[run.first])
      table.add({run.text(), p.comms[c.comm].name, name_of(c.collective), name_of(c.reduce),
                 name_of(c.phase), name_of(c.dtype), format_count(c.count), format_count(c.bytes)});
  }
  return table.text();
}

std::string transfers_text(const Program& p, const std::vector<CollectiveCounts>& counts) {
  std::vector<std::vector<TransferRow>> by_stage;
  const int stages = static_cast<int>(p.roles.size());
  for (int r = 0; r < stages; ++r) {
    by_stage.emplace_back();
    for (TransferCount t : counts[static_cast<std::size_t>(r)].transfers) {
      const int distance = (t.peer - r + stages) % stages;
      t.peer = 0;
      by_stage.back().emplace_back(distance, t);
    }
  }
  TextTable table({"stage", "transfer", "with", "communicator", "count", "bytes"});
  for (const StageRun& run : equal_stages(by_stage)) {
    for (const auto& [distance, t] : by_stage[run.first]) {
      std::string peer = "the next";
      if (run.first == run.last) {
        peer = std::to_string((static_cast<int>(run.first) + distance) % stages);
      } else if (distance + 1 == stages) {
        peer = "the one before";
      } else if (distance != 1) {
        peer = fmt::format("{} further", distance);
      }
      table.add({run.text(), name_of(t.kind), peer, p.comms[t.comm].name, format_count(t.count),
                 format_count(t.bytes)});
    }
  }
  return table.text();
}

}  // namespace

std::string print_program(const Program& p, int grid_columns) {
  std::vector<CollectiveCounts> counts;
  bool collectives = false, transfers = false;
  for (std::size_t r = 0; r < p.roles.size(); ++r) {
    counts.push_back(count_collectives(p, r));
    collectives |= !counts.back().collectives.empty();
    transfers |= !counts.back().transfers.empty();
  }
  std::string text = mesh_text(p.mesh);
  text += fmt::format("{} sequences of {} tokens a step, {} micro-batches of {} per replica\n",
                      p.job.global_batch, p.job.sequence, p.job.micro_batches, p.job.micro);
  if (!p.comms.empty()) text += "\nGroups\n" + groups_text(p);
  text += "\nStages\n" + stages_text(p);
  if (collectives) text += "\nCollectives per step and rank\n" + collectives_text(p, counts);
  if (transfers) text += "\nTransfers per step and rank\n" + transfers_text(p, counts);
  text += "\nPasses (3a: forward of micro-batch 3 on the stage's first chunk, 3A: its backward)\n";
  return text + schedule_grid(p, {}, grid_columns);
}

}  // namespace windtunnel

#pragma once
// Drafts one role: creates its slots and emits its ops into the current segment.
//
// Emission knows the current phase, layer and whether it recomputes; every compute op gets its
// device memory traffic from its operands' sizes (each operand once; an accumulated output is read
// and written).

#include <set>
#include <string_view>
#include <utility>

#include "models/cost/cost_model.h"
#include "plan/program_writer.h"
#include "plan/resolved.h"

namespace windtunnel {

/// What an emitted kernel needs beside its operands.
struct KernelSpec {
  Kernel kernel = Kernel::none;
  ShapeDims dims{};
  std::uint16_t attr = kAttrNone;
  Module module = Module::none;
  std::uint8_t variant = 0;
  int launches = 1;
  bool continues = false;  // part of the kernel before, which has the first input on chip
  Stream stream = Stream::compute;
  When when = When::always;
  std::int64_t extra_bytes =
      0;  // traffic beyond the operands (eager passes); may be negative (gathers)
};

struct TransferSpec {
  Collective collective = Collective::all_reduce;
  ReduceOp reduce = ReduceOp::sum;
  std::uint32_t comm = kNone;
  Stream stream = Stream::compute;
  Module module = Module::none;
  When when = When::always;
  int distance = 1;  // ring_shift
};

/// Work of `to` from here on stands behind what `from` has been given, by an event of this name.
struct Ordering {
  Stream from = Stream::compute, to = Stream::compute;
  std::string_view event;
  bool per_frame = false;
  When when = When::always;
};

/// Where the kernels of a pass leave the largest magnitudes that scale 8-bit operands.
struct AmaxBuffer {
  SlotId slot = kNone;
  std::int64_t used = 0;
};

class RoleDraft {
 public:
  RoleDraft(ProgramWriter& writer, const ResolvedScenario& scenario, int pipeline_rank);

  SlotId tensor(std::string_view name, std::int64_t elements, Dtype dtype,
                Category category = Category::activations);
  /// A tensor of another stream's allocator pool.
  SlotId tensor_of(Stream pool, std::string_view name, std::int64_t elements, Dtype dtype,
                   Category category);
  SlotId static_slot(std::string_view name, std::int64_t elements, Dtype dtype, Category category);
  /// A slot whose taking and giving back is drafted by hand: `take` and `give_back`.
  SlotId placed(SlotId id, Space space);
  void take(SlotId slot, When when);
  void give_back(SlotId slot, When when);
  SlotId view(SlotId parent, std::string_view name, std::int64_t offset, std::int64_t elements);
  /// The equal part of rows of the tp rank `back` places before this one, around the group.
  SlotId tp_part(SlotId whole, std::string_view name, int back = 0);
  /// This rank's of `ways` equal parts, whose ranks are `step` replica places apart.
  SlotId dp_part(SlotId whole, std::string_view name, int ways, int step = 1);

  void kernel(const KernelSpec& spec, const OperandList& inputs, const OperandList& outputs);
  /// `full` is the number of elements of the gathered tensor. In place when in == out.
  void collective(const TransferSpec& spec, SlotId in, SlotId out, std::int64_t full);
  void point_to_point(OpKind kind, SlotId slot, int peer_role, std::uint32_t comm, Stream stream);

  /// Work of the host alone: `repeat` times an item of the profile's host costs.
  void host_work(HostItem item, int repeat);

  std::uint32_t event(std::string_view name, bool per_frame);
  void record(std::uint32_t event, Stream stream, When when = When::always);
  void wait(std::uint32_t event, Stream stream, const OperandList& holds = {},
            When when = When::always);
  /// Nothing where both are one stream.
  void order(const Ordering& ordering, const OperandList& holds = {});
  void host_sync(std::uint32_t event);
  /// The host waits for all that the compute stream was given so far.
  void wait_on_host(std::string_view name);
  /// Keeps `slot` allocated up to here without an op of its own: the last op emitted holds it.
  void hold(SlotId slot);
  /// A tensor the last op also leaves behind; `hold` in backward is what keeps it until there.
  SlotId keep(std::string_view name, std::int64_t elements, Dtype dtype);

  Slot& slot(SlotId id) { return role.slots[id]; }
  const Slot& slot(SlotId id) const { return role.slots[id]; }
  const ResolvedPlan& plan() const { return scenario.plan; }
  const Model& model() const { return scenario.scenario.model; }
  const FrameworkRules& rules() const { return scenario.rules; }
  /// Whether the last stage holds a copy of the first one's word embedding.
  bool copies_word_embedding() const {
    return plan().pp > 1 && model().ends_share_word_embedding();
  }
  std::uint32_t comm(std::string_view name) const { return writer.comm(name); }

  ProgramWriter& writer;
  const ResolvedScenario& scenario;
  Role role;
  SegmentDraft* segment = nullptr;  // where ops go
  Phase phase = Phase::forward;
  std::int16_t layer = -1;
  std::int16_t chunk = -1;
  bool recompute = false;
  AmaxBuffer amaxes;
  SlotId loss_scale = kNone, found_inf = kNone;  // plan/loss_scaling.h; kNone: not scaled
  std::set<SlotId> placed_by_hand;               // taken and given back by drafted ops
  std::set<SlotId> taken_elsewhere;              // frame slots that another chunk's segment takes
};

/// Ops drafted while it lives are of another phase, and of another layer where one is given.
class DraftScope {
 public:
  DraftScope(RoleDraft& draft, Phase phase) : DraftScope(draft, phase, draft.layer) {}
  DraftScope(RoleDraft& draft, Phase phase, std::int16_t layer)
      : d_(draft),
        phase_(std::exchange(draft.phase, phase)),
        layer_(std::exchange(draft.layer, layer)) {}
  DraftScope(const DraftScope&) = delete;
  DraftScope& operator=(const DraftScope&) = delete;
  ~DraftScope() {
    d_.phase = phase_;
    d_.layer = layer_;
  }

 private:
  RoleDraft& d_;
  Phase phase_;
  std::int16_t layer_;
};

}  // namespace windtunnel

#pragma once
// Sharded weights (ZeRO-3, FSDP): which unit is gathered when, and when it is let go.
//
// A chunk enters and leaves its units in order: forward through embedding, layers and head,
// backward the other way. Entering a unit gathers it, unless it is whole already; leaving it in
// forward lets it go, unless it stays for backward; leaving it in backward lets it go and reduces
// its gradients. Gathers run on a stream of their own. In forward the host runs ahead, so that the
// next unit's gather, issued behind this unit's kernels, overlaps them; in backward the next gather
// is issued before this unit's kernels.
//
// fully_shard (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py @002a76fb): gathered into a
// buffer and copied out; the buffer lives until the next unit is copied out in forward, until its
// own copy in backward; compute waits for the reduction of the unit before, then packs this one's
// gradients. FullyShardedDataParallel: gathered in place; the host waits for the oldest unit let go
// before it gathers a third.
//
// Pipeline stages keep weights whole from the first forward to the last backward when
// `reshard_after_forward` is false, and add up whole gradients, which are reduced after the last
// backward and its send (torch/distributed/pipelining/stage.py, backward_maybe_with_nosync).

#include <deque>
#include <optional>
#include <vector>

#include "plan/parameters.h"

namespace windtunnel {

class ShardedUnits {
 public:
  ShardedUnits(RoleDraft& draft, ChunkParameters& parameters);

  /// Decides where weights live, once the parameters are laid out.
  void place();
  /// Names a layer or an end of the model (its number or UnitKey) that the chunk goes through.
  void add_part(int part);

  void begin_forward();
  void end_forward();
  void end_backward();
  /// Before and after the ops of a part.
  void enter(int part);
  void leave(int part);
  /// In backward, in place of a part that has none: lets go what was kept or gathered ahead of it.
  void pass_by(int part);
  /// Of pipeline stages, behind the last backward: units are let go and reduced, the last first.
  void reduce_whole_gradients();

  /// A unit on its way through one pass.
  struct Unit {
    int parts = 0;  // layers and ends it holds
    int left = 0;   // of these, left in this pass
    bool entered = false;
    bool issued = false;    // its gather
    bool whole = false;     // it can be used
    SlotId buffer = kNone;  // what it was gathered into, where that is not the weights themselves
    std::uint32_t copied = kNone, released = kNone, kept = kNone;  // events
  };
  /// How far drafting has come: kept after forward, so that backward can be drafted in several
  /// ways.
  struct State {
    bool forward = true;                     // the pass that is drafted
    std::vector<Unit> units;                 // as parameters' buckets
    std::vector<std::size_t> forward_order;  // as units are left
    std::optional<std::size_t> copied_last;  // forward: its buffer is still there
    std::deque<std::size_t> released;        // let go, their memory not yet given back
    std::optional<std::size_t> in_flight;    // being reduced
  };
  const State& state() const { return s_; }
  void restore(const State& state) { s_ = state; }

 private:
  bool active() const { return d_.plan().shards_weights(); }
  /// Units of a layer or an end of the model: its own, and that of experts held apart.
  std::vector<std::size_t> units_of(int part) const;
  void enter_unit(std::size_t unit);
  void leave_unit(std::size_t unit);
  /// Whether weights stay whole between forward and backward of a micro-batch.
  bool stays(std::size_t unit) const;
  When gather_when(std::size_t unit) const;
  When reduce_when() const;
  Stream gather_stream() const;
  std::size_t ahead_in_forward() const;
  void order(Stream from, Stream to, When when);
  /// Whether its weights are read again in backward: those of a frozen embedding are not.
  bool read_in_backward(const Bucket& bucket) const;
  bool gathers_kept(const Bucket& bucket) const;
  void issue(std::size_t unit);
  struct Gathering {
    SlotId source = kNone, whole = kNone;
    int ways = 1;
    const char* comm = "";
  };
  void gather(std::size_t unit, const Gathering& gathering);
  void gather_parts(std::size_t unit);
  void all_gather(std::size_t unit, const char* comm, SlotId own, SlotId whole);
  void copy_to(std::size_t unit, SlotId from, SlotId to);
  void fetch(std::size_t unit, SlotId shard, SlotId to);
  void await(std::size_t unit);
  void copy_out(std::size_t unit);
  void copy_parts_out(std::size_t unit);
  void free_buffer(std::size_t unit);
  void prefetch(std::size_t unit);
  void keep_part(std::size_t unit);
  void release(std::size_t unit, When when);
  void free_released(std::size_t at_most);
  void reduce(std::size_t unit);
  void await_last_reduction();

  RoleDraft& d_;
  ChunkParameters& parameters_;
  State s_;
};

}  // namespace windtunnel

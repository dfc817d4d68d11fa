#pragma once
// What the checks of a program share: facts about each segment, gathered once, and the words that
// name an op.
//
// A check walks distinct ops once and calls once; what it needs per call is looked up here.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// What a segment does for its (chunk, micro-batch).
enum Action : std::uint8_t {
  kReceiveInput = 1,
  kForward = 2,
  kSendOutput = 4,
  kReceiveGrad = 8,
  kBackward = 16,
  kSendGrad = 32,
  kWeightGrad = 64,
};

struct OpRange {
  std::uint32_t begin = 0, end = 0;
};

struct SegmentFacts {
  std::uint8_t actions = 0;     // Action bits
  bool by_micro_batch = false;  // has ops under the first or last micro-batch flag
  bool by_step = false;         // has ops of the first step only
  bool hands_over = false;      // passes a tensor to the next chunk of its rank
  OpRange transfers;            // into ProgramFacts::transfers
  OpRange shared;               // into ProgramFacts::shared
};

/// Calls of a role that run the same ops: one segment and, where it matters to the segment, the
/// same micro-batch flags. A check looks at the ops of a variant once.
struct CallVariant {
  Call call;                                    // the first of them
  std::uint32_t count = 0;                      // calls in a step
  std::uint32_t first_call = 0, last_call = 0;  // into Role::calls
};

struct RoleFacts {
  std::vector<SlotId> roots;                   // by slot: the slot whose memory it lies in
  std::vector<CallVariant> variants;           // in order of their first call
  std::vector<std::uint32_t> variant_of_call;  // by call
};

struct ProgramFacts {
  explicit ProgramFacts(const Program& program);

  const Program& program;
  std::vector<SegmentFacts> segments;
  std::vector<RoleFacts> roles;
  std::vector<std::uint32_t> transfers;  // sends and receives: op indices, by segment
  std::vector<std::uint32_t> shared;     // collectives whose members have several roles

  std::span<const std::uint32_t> transfers_of(const SegmentFacts& f) const {
    return std::span(transfers).subspan(f.transfers.begin, f.transfers.end - f.transfers.begin);
  }
  std::span<const std::uint32_t> shared_of(const SegmentFacts& f) const {
    return std::span(shared).subspan(f.shared.begin, f.shared.end - f.shared.begin);
  }
};

/// Whether the members of the communicator's groups have different roles.
bool spans_roles(const Comm& comm);

/// Place of an op execution.
struct OpPlace {
  std::size_t role = 0;
  std::size_t call = 0;  // into Role::calls
  std::uint32_t op = 0;  // into Program::ops
};

/// "role 1 call 7 'forward.chunk0' (chunk 0, micro-batch 2) op 5: all_reduce on tp, stream tp, x".
std::string place_text(const Program& program, const OpPlace& place);
/// "role 1 call 7 'forward.chunk0' (chunk 0, micro-batch 2)".
std::string call_text(const Program& program, std::size_t role, std::size_t call);
/// "role 1 segment 'forward.chunk0' op 5: gemm_fwd, stream compute, a b c".
std::string segment_op_text(const Program& program, std::size_t role, std::uint32_t segment,
                            std::uint32_t op);
std::string op_text(const Program& program, const Role& role, const Op& op);
std::string slot_text(const Program& program, const Role& role, SlotId slot);

/// Violations of one check; beyond a readable number they are only counted.
class Violations {
 public:
  void add(std::string text);
  /// The texts, the last one telling how many more there were.
  std::vector<std::string> take();

 private:
  std::vector<std::string> texts_;
  std::size_t left_out_ = 0;
};

}  // namespace windtunnel

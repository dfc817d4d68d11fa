#pragma once
// The loop of the interpreter: every rank goes on until it needs what another has not produced.
//
// `Engine<T>` is the body of `execute` (`interpreter.h`) for one number type.

#include <string>
#include <vector>

#include "program/mesh.h"
#include "runtime/execution.h"
#include "runtime/kernel_call.h"
#include "runtime/kernel_rows.h"
#include "runtime/message_board.h"
#include "runtime/rank_state.h"

namespace windtunnel {

template <class T>
class Engine {
 public:
  Engine(const Program& program, const ExecutionOptions& options);
  ExecutionRecord run();

 private:
  using Rank = RankState<T>;

  /// Runs a rank until it is done or blocked; whether anything ran.
  bool advance(Rank& rank);
  /// Moves to the next call; false when the step's leftovers must be awaited first.
  bool end_call(Rank& rank);
  static bool goes_on_with(const Op& op);
  /// Whether what the compute stream waits for is there.
  bool arrived(Rank& rank);
  /// False: blocked, to be tried again.
  bool try_op(Rank& rank, const Op& op, const Call& call);
  bool try_alloc(Rank& rank, const Op& op, const Call& call);
  bool try_free(Rank& rank, const Op& op, const Call& call);
  bool try_compute(Rank& rank, const Op& op, const Call& call);
  bool try_collective(Rank& rank, const Op& op, const Call& call);
  bool try_send(Rank& rank, const Op& op, const Call& call);
  bool try_recv(Rank& rank, const Op& op, const Call& call);

  /// Takes in what pending transfers bring to the range; false when one is not there yet.
  bool settle(Rank& rank, const MemoryRange& range, SlotId named);
  void expect_into(Rank& rank, const Op& op, const MemoryRange& range, const Ticket& ticket);
  /// Throws ExecutionError when no wait orders the op after what other streams do to its operands.
  void check_order(Rank& rank, const Op& op, const Call& call);
  void compute(Rank& rank, const Op& op, const Call& call);

  MessageLabel label(const Rank& rank, const Op& op, const Call& call) const;
  int peer_rank(const Rank& rank, const Op& op) const;
  StepRecord& record(const Rank& rank) {
    return record_.steps[static_cast<std::size_t>(rank.position.step)];
  }
  std::string where(const Rank& rank) const;
  [[noreturn]] void report_stuck() const;

  const Program& program_;
  const ExecutionOptions& options_;
  Grid grid_;
  std::vector<Rank> ranks_;
  MessageBoard<T> board_;
  ExecutionRecord record_;
};

}  // namespace windtunnel

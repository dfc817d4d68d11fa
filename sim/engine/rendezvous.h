#pragma once
// Where roles meet: point-to-point transfers and collectives of several roles.
//
// A channel is (source role, destination role, communicator). Its sends and receives match first in
// first out, lane by lane, and its transfers follow each other. The k-th collective of a
// communicator on one role meets the k-th on every other role of the communicator.

#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/completion.h"
#include "sim/engine/instruction.h"
#include "sim/engine/slow_links.h"

namespace windtunnel {

class Rendezvous {
 public:
  struct Step {
    const Program& program;
    const CompiledProgram& compiled;
    const SlowLinks& slow_links;
    CompletionPool& pool;
  };
  explicit Rendezvous(const Step& step);

  /// What a role brings: when it is ready (at `floor` on each lane and when `inputs` are done) and,
  /// of a sender or a collective, what the transfer costs.
  struct Party {
    int role = 0;
    const Picoseconds* floor = nullptr;
    std::span<const CompletionRef> inputs;
    const Picoseconds* duration = nullptr;  // per draw
    TransferEntry* shares = nullptr;        // T2
    NoiseSource noise{};
  };
  /// The transfer that this send or recv takes part in.
  CompletionRef post(const Instruction& instruction, const Party& party);
  /// The collective that this role's next op on the communicator takes part in.
  CompletionRef meet(const Instruction& instruction, const Party& party);

  /// First of the roles waiting for completions whose last party has posted since the last call,
  /// linked as `Completion::waiter` is; -1: none.
  std::vector<int> take_woken() { return std::exchange(woken_, {}); }
  bool has_woken() const { return !woken_.empty(); }

  /// "the transfer from role 0 to role 1 on 'pp_fwd': role 0 has not sent".
  std::string describe(const Completion& blocker) const;

 private:
  struct Open {
    std::deque<CompletionRef> unmatched;  // posted by one side only
    bool sends_ahead = false;             // which side
    CompletionRef last;                   // the channel's latest transfer
  };
  struct Gathering {
    std::deque<CompletionRef> open;
    std::size_t first = 0;          // number of the first open collective
    std::vector<std::size_t> next;  // per role: number of its next collective
  };
  void arrive(Completion& completion, const Party& party);

  Step step_;
  std::vector<Open> channels_;
  std::vector<Gathering> gatherings_;  // per communicator
  std::vector<int> woken_;
};

}  // namespace windtunnel

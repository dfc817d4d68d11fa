#include "program/verify.h"

#include <array>

#include "core/check.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

constexpr std::array kChecks{
    CheckRow{"operands", "collectives and transfers have the size and type of their operands",
             check_operands},
    CheckRow{"views", "a view lies inside its parent, with its type and in its space", check_views},
    CheckRow{"places",
             "kernels work in the memory of where they run, device or host, and only copies cross",
             check_places},
    CheckRow{"calls",
             "every chunk receives, runs forward, sends, receives the gradient, runs backward and "
             "sends it once per micro-batch, in this order; first and last micro-batch are marked",
             check_calls},
    CheckRow{"transfers",
             "the n-th send of a (communicator, sender, receiver) meets the n-th receive: same "
             "size, type and micro-batch, neighbouring chunks",
             check_transfers},
    CheckRow{"collectives",
             "roles that share a communicator issue the same collectives in the same order",
             check_collectives},
    CheckRow{"memory",
             "statics are taken once and kept, frame slots taken and given back once per "
             "micro-batch, scratch within a segment; nothing is used outside its life",
             check_memory},
    CheckRow{"groups",
             "no memory that a group of transfers uses is given back and taken again before its "
             "last transfer",
             check_groups},
    CheckRow{"gradients",
             "every gradient is reduced over dp and cp once, complete and before the optimizer "
             "reads it; "
             "tied parameters also over the first and last stage",
             check_gradients},
    CheckRow{"copies",
             "where the model lies on the stages twice, every gradient is summed over both copies "
             "once, complete and before the optimizer reads it",
             check_copies},
    CheckRow{"progress",
             "waits have a record before them, and no role is stuck when all streams run as far as "
             "they can",
             check_progress},
    CheckRow{
        "hazards",
        "uses of memory on different streams are ordered by events, over the step's border too",
        check_hazards},
};

constexpr std::size_t kShown = 8;  // violations in the error: enough to see the pattern

}  // namespace

std::span<const CheckRow> check_table() {
  return kChecks;
}

std::vector<std::string> find_violations(const Program& program) {
  std::vector<std::string> all;
  for (const std::string& text : find_bad_indices(program)) all.push_back("indices: " + text);
  if (!all.empty()) return all;
  const ProgramFacts facts(program);
  for (const CheckRow& check : kChecks) {
    for (const std::string& text : check.find(facts))
      all.push_back(std::string(check.name) + ": " + text);
  }
  return all;
}

void verify(const Program& program) {
  const std::vector<std::string> found = find_violations(program);
  std::string text;
  for (std::size_t i = 0; i < found.size() && i < kShown; ++i) text += "\n  " + found[i];
  if (found.size() > kShown)
    text += "\n  and " + std::to_string(found.size() - kShown) + " more violations";
  CHECK(found.empty(), "the lowered program is not sound:" + text);
}

}  // namespace windtunnel

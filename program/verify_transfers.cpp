// Does every send meet its receive?

#include <fmt/format.h>

#include <map>

#include "program/sync_ops.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

struct End {
  std::uint32_t call = 0, op = 0;
};

struct Ends {
  std::vector<End> sends, receives;
};

class Matching {
 public:
  explicit Matching(const ProgramFacts& facts) : facts_(facts), program_(facts.program) {}

  std::vector<std::string> run() {
    for (std::size_t r = 0; r < program_.roles.size(); ++r) collect(r);
    for (const auto& [channel, index] : index_) compare(channel, ends_[index]);
    return violations_.take();
  }

 private:
  void collect(std::size_t role) {
    const std::vector<Call>& calls = program_.roles[role].calls;
    std::vector<std::uint32_t> channel(facts_.transfers.size(), kNone);  // by transfer, this role's
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const OpRange range = facts_.segments[calls[i].segment].transfers;
      for (std::uint32_t t = range.begin; t < range.end; ++t) {
        const std::uint32_t op = facts_.transfers[t];
        if (channel[t] == kNone) channel[t] = index_of(program_.ops[op], role);
        Ends& ends = ends_[channel[t]];
        (program_.ops[op].kind == OpKind::send ? ends.sends : ends.receives)
            .push_back({.call = static_cast<std::uint32_t>(i), .op = op});
      }
    }
  }

  std::uint32_t index_of(const Op& op, std::size_t role) {
    const auto [it, added] =
        index_.try_emplace(channel_of(op, role), static_cast<std::uint32_t>(ends_.size()));
    if (added) ends_.emplace_back();
    return it->second;
  }

  void compare(const Channel& c, const Ends& ends) {
    if (ends.sends.size() != ends.receives.size())
      violations_.add(
          fmt::format("role {} sends {} times to role {} on {}, which receives {} times", c.from,
                      ends.sends.size(), c.to, program_.comms[c.comm].name, ends.receives.size()));
    const std::size_t n = std::min(ends.sends.size(), ends.receives.size());
    for (std::size_t i = 0; i < n; ++i) compare(c, ends.sends[i], ends.receives[i]);
  }

  void compare(const Channel& c, const End& send, const End& receive) {
    const Role &from = program_.roles[static_cast<std::size_t>(c.from)],
               &to = program_.roles[static_cast<std::size_t>(c.to)];
    const Op &s = program_.ops[send.op], &r = program_.ops[receive.op];
    const Call &sc = from.calls[send.call], &rc = to.calls[receive.call];
    const char* why = nullptr;
    if (s.elements != r.elements) why = "of another size";
    if (s.dtype != r.dtype) why = "of another type";
    if (sc.micro_batch != rc.micro_batch) why = "of another micro-batch";
    if (s.phase != r.phase) why = "of another direction";
    const int step = s.phase == Phase::forward ? 1 : -1;
    if (sc.chunk < 0 || rc.chunk < 0 ||
        from.chunks[static_cast<std::size_t>(sc.chunk)].global_chunk + step !=
            to.chunks[static_cast<std::size_t>(rc.chunk)].global_chunk)
      why = "of a chunk that is not its neighbour";
    if (why == nullptr) return;
    violations_.add(fmt::format(
        "{} meets a receive {}: {}",
        place_text(program_, {static_cast<std::size_t>(c.from), send.call, send.op}), why,
        place_text(program_, {static_cast<std::size_t>(c.to), receive.call, receive.op})));
  }

  const ProgramFacts& facts_;
  const Program& program_;
  std::map<Channel, std::uint32_t> index_;
  std::vector<Ends> ends_;
  Violations violations_;
};

}  // namespace

std::vector<std::string> check_transfers(const ProgramFacts& facts) {
  return Matching(facts).run();
}

}  // namespace windtunnel

#include "sim/engine/comm_order.h"

#include <map>
#include <utility>

namespace windtunnel {

namespace {

using StreamSet = std::uint32_t;
StreamSet set_of(Stream stream) {
  return StreamSet{1} << static_cast<unsigned>(stream);
}

/// Follows one communicator through a block of code. By induction over the calls of a step it is
/// enough that every block begins and ends with the compute stream behind the last collective.
class OrderProof {
 public:
  explicit OrderProof(std::uint16_t comm) : comm_(comm) {}

  bool holds_in(const Code& block) {
    behind_ = set_of(Stream::compute);
    recorded_behind_.clear();
    for (const Instruction& i : block.ops) {
      switch (i.action) {
        case Action::join:
        case Action::side_join:
        case Action::meet:
          if (i.comm == comm_ && !step_over(i.stream)) return false;
          break;
        case Action::record:
          recorded_behind_[{i.frame_event, i.place}] = is_behind(i.stream);
          break;
        case Action::wait:
          if (recorded_behind_[{i.frame_event, i.place}]) behind_ |= set_of(i.stream);
          break;
        case Action::follow:
          if (is_behind(i.followed)) behind_ |= set_of(i.stream);
          break;
        default:
          break;
      }
    }
    return is_behind(Stream::compute);
  }

 private:
  bool is_behind(Stream stream) const { return (behind_ & set_of(stream)) != 0; }

  /// The next collective is on `stream`; whether that is ordered behind the last one.
  bool step_over(Stream stream) {
    const bool ordered = is_behind(stream);
    behind_ = set_of(stream);
    recorded_behind_.clear();
    return ordered;
  }

  std::uint16_t comm_;
  StreamSet behind_ = 0;  // streams ordered behind the communicator's last collective
  std::map<std::pair<bool, std::uint32_t>, bool> recorded_behind_;
};

}  // namespace

std::vector<bool> find_unordered_comms(const RoleCode& code, std::size_t comms) {
  std::vector<StreamSet> streams(comms, 0);
  for (const Code& block : code.code) {
    for (const Instruction& i : block.ops) {
      if (i.transfer < TransferKind::point_to_point) streams[i.comm] |= set_of(i.stream);
    }
  }
  std::vector<bool> unordered(comms, false);
  for (std::size_t comm = 0; comm < comms; ++comm) {
    const bool several_streams = (streams[comm] & (streams[comm] - 1)) != 0;
    if (!several_streams) continue;
    OrderProof proof(static_cast<std::uint16_t>(comm));
    for (const Code& block : code.code) {
      unordered[comm] = unordered[comm] || !proof.holds_in(block);
    }
  }
  return unordered;
}

}  // namespace windtunnel

#include "kernels/inprocess/inprocess_board.h"

#include <cstring>

#include "kernels/device/transfer_math.h"

namespace windtunnel {

namespace {

template <class T>
const T* in_of(const TransferPart& part) {
  return static_cast<const T*>(part.in);
}

/// Elements [begin, end) of every part, reduced in member order.
template <class T>
std::vector<T> reduced(const std::vector<TransferPart>& parts, std::int64_t begin,
                       std::int64_t end) {
  const Reduction reduction = parts[0].reduction;
  std::vector<T> sum(in_of<T>(parts[0]) + begin, in_of<T>(parts[0]) + end);
  // A maximum begins with itself: among one member, too, it is 0 in the field.
  for (std::size_t p = reduction == Reduction::max ? 0 : 1; p < parts.size(); ++p) {
    const T* more = in_of<T>(parts[p]) + begin;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = reduce_two(reduction, sum[i], more[i]);
  }
  if (reduction == Reduction::average) {
    const T share = share_of<T>(static_cast<std::int64_t>(parts.size()));
    for (T& x : sum) x = x * share;
  }
  return sum;
}

/// Results of all members, before any is written: outputs may be inputs.
template <class T>
std::vector<std::vector<T>> results(const std::vector<TransferPart>& parts) {
  const auto n = static_cast<std::int64_t>(parts.size());
  const std::int64_t all = parts[0].elements, share = all / n;
  std::vector<std::vector<T>> out(parts.size());
  const auto append = [](std::vector<T>& to, const T* from, std::int64_t count) {
    to.insert(to.end(), from, from + count);
  };
  for (std::int64_t m = 0; m < n; ++m) {
    std::vector<T>& mine = out[static_cast<std::size_t>(m)];
    switch (parts[0].kind) {
      case WireKind::all_reduce:
        mine = m == 0 ? reduced<T>(parts, 0, all) : out[0];
        break;
      case WireKind::reduce_scatter:
        mine = reduced<T>(parts, m * share, (m + 1) * share);
        break;
      case WireKind::all_gather:
        for (const TransferPart& p : parts) append(mine, in_of<T>(p), share);
        break;
      case WireKind::all_to_all:
        for (const TransferPart& p : parts) append(mine, in_of<T>(p) + m * share, share);
        break;
      case WireKind::ring_shift:
        append(mine, in_of<T>(parts[static_cast<std::size_t>((m + n - parts[0].distance) % n)]),
               all);
        break;
      default:  // broadcast, and a message: from the first
        append(mine, in_of<T>(parts[0]), all);
        break;
    }
  }
  return out;
}

}  // namespace

std::string carry_out(const std::vector<TransferPart>& parts) {
  const bool message = parts[0].kind == WireKind::send || parts[0].kind == WireKind::recv;
  for (const TransferPart& p : parts) {
    if (p.elements != parts[0].elements || p.type != parts[0].type ||
        p.reduction != parts[0].reduction || p.distance != parts[0].distance ||
        (!message && p.kind != parts[0].kind)) {
      return "members of a transfer disagree on its kind, size or type";
    }
  }
  if (message) {
    const auto bytes = static_cast<std::size_t>(parts[0].elements * bytes_of(parts[0].type));
    std::memcpy(parts[1].out, parts[0].in, bytes);
    return "";
  }
  with_number_of(parts[0].type, [&](auto zero) {
    using T = decltype(zero);
    const std::vector<std::vector<T>> out = results<T>(parts);
    for (std::size_t m = 0; m < parts.size(); ++m) {
      std::copy(out[m].begin(), out[m].end(), static_cast<T*>(parts[m].out));
    }
  });
  return "";
}

void InProcessBoard::arrive(const MeetingPlace& place, const TransferPart& part) {
  {
    const std::lock_guard lock(mutex_);
    Queue& queue = queues_[place.queue];
    Meeting& meeting = queue.meetings[place.number];
    meeting.parts.resize(static_cast<std::size_t>(place.members));
    meeting.here.resize(static_cast<std::size_t>(place.members), 0);
    meeting.parts[static_cast<std::size_t>(place.member)] = part;
    meeting.here[static_cast<std::size_t>(place.member)] = 1;
    ++meeting.arrived;
    // After a failure members may be gone with their memory.
    if (failure_.empty()) carry_out(queue);
  }
  changed_.notify_all();
}

void InProcessBoard::carry_out(Queue& queue) {
  for (auto at = queue.meetings.find(queue.next); at != queue.meetings.end();
       at = queue.meetings.find(queue.next)) {
    Meeting& meeting = at->second;
    if (meeting.arrived < static_cast<int>(meeting.parts.size())) return;
    const std::string wrong = windtunnel::carry_out(meeting.parts);
    if (!wrong.empty()) {
      failure_ = wrong;
      return;
    }
    meeting.done = true;
    ++queue.next;
  }
}

void InProcessBoard::await(const MeetingPlace& place) {
  std::unique_lock lock(mutex_);
  Queue& queue = queues_[place.queue];
  Meeting& meeting = queue.meetings[place.number];
  changed_.wait(lock, [&] { return meeting.done || !failure_.empty(); });
  if (!failure_.empty()) throw TransferError(failure_);
  if (++meeting.left == static_cast<int>(meeting.parts.size())) queue.meetings.erase(place.number);
}

void InProcessBoard::fail(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
  }
  changed_.notify_all();
}

}  // namespace windtunnel

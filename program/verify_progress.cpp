// Does every stream of every role get to its end?
//
// A dry run without time. Each stream is a first-in first-out line of what can block (sync_ops.h):
// a wait lets pass when the line its event was recorded on has passed that point; a send and its
// receive when both stand at the head of their lines (grouped transfers reach the head together); a
// shared collective when it does so on all its roles; a host synchronisation stops the host from
// issuing. Running further ahead never blocks anything, so a host may pause at will: it issues on
// only when every role is stuck.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "program/sync_ops.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

constexpr std::size_t kStreams = static_cast<std::size_t>(Stream::count);
constexpr std::size_t kRunAhead = 48;  // ops in line before a host pauses: stays in the cache
constexpr std::uint32_t kNeverRecorded = kNone;

/// A point of a line: so many ops stood in it before.
struct Point {
  Stream stream = Stream::compute;
  std::uint32_t position = kNeverRecorded;
};

/// An op in the line of its stream.
struct Waiting {
  const SyncOp* op = nullptr;
  std::uint32_t call = 0;
  std::uint32_t ticket = 0;  // once posted: how many ops its meeting place had seen before it
  Point until;               // wait: the point to pass
};

struct Line {
  std::vector<Waiting> items;
  std::size_t head = 0, posted = 0;  // items before `posted` are announced to their partners
  std::uint32_t passed = 0;          // ops that have left the line, ever

  bool empty() const { return head == items.size(); }
  /// Ops that ever stood in the line.
  std::uint32_t entered() const { return passed + static_cast<std::uint32_t>(items.size() - head); }
  void drop_passed() {
    if (head < kRunAhead && !empty()) return;
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(head));
    posted -= std::min(posted, head);
    head = 0;
  }
};

/// Sends and receives posted on one channel.
struct Meeting {
  std::uint32_t sends = 0, receives = 0;
};

struct RoleRun {
  RoleSyncOps ops;
  std::array<Line, kStreams> lines;
  std::vector<Point> registers;        // the latest record of each event
  std::vector<std::uint32_t> arrived;  // by communicator: shared collectives posted
  std::uint32_t next_call = 0;
  std::uint32_t next_op = 0;  // within the next call
  std::size_t in_line = 0;    // ops in all lines
  bool ready = true;          // stands in the list of roles to run
  bool moved = false;         // a line has passed an op that others may wait for
};

class DryRun {
 public:
  explicit DryRun(const ProgramFacts& facts) : facts_(facts), program_(facts.program) {
    ChannelTable channels;
    roles_.resize(program_.roles.size());
    for (std::size_t r = 0; r < roles_.size(); ++r) {
      roles_[r].ops = sync_ops_of(facts_, r, channels);
      roles_[r].registers.resize(roles_[r].ops.registers);
      roles_[r].arrived.assign(program_.comms.size(), 0);
      to_run_.push_back(r);
    }
    meetings_.resize(channels.size());
  }

  std::vector<std::string> run() {
    for (std::size_t ahead = kRunAhead;; ahead *= 4) {
      run_ready(ahead);
      bool paused = false;
      for (std::size_t r = 0; r < roles_.size(); ++r) {
        if (roles_[r].in_line < ahead) continue;
        paused = true;
        wake(r);
      }
      if (!paused) break;
    }
    for (std::size_t r = 0; r < roles_.size(); ++r) report_stuck(r);
    return violations_.take();
  }

 private:
  void run_ready(std::size_t ahead) {
    while (!to_run_.empty()) {
      const std::size_t r = to_run_.back();
      to_run_.pop_back();
      roles_[r].ready = false;
      run_role(r, ahead);
    }
  }

  void wake(std::size_t r) {
    if (roles_[r].ready) return;
    roles_[r].ready = true;
    to_run_.push_back(r);
  }

  void run_role(std::size_t r, std::size_t ahead) {
    RoleRun& role = roles_[r];
    const std::size_t calls = program_.roles[r].calls.size();
    role.moved = true;
    do {
      while (role.moved) {
        role.moved = false;
        for (Line& line : role.lines) {
          if (!line.empty()) advance(r, line);
        }
      }
    } while (role.next_call < calls && role.in_line < ahead && issue_call(r));
  }

  /// Issues the rest of the next call; false when the host could not go on at all.
  bool issue_call(std::size_t r) {
    RoleRun& role = roles_[r];
    const std::uint32_t at = role.next_call;
    const std::span<const SyncOp> ops = role.ops.of(facts_.roles[r].variant_of_call[at]);
    bool issued = false;
    for (; role.next_op < ops.size(); ++role.next_op) {
      const SyncOp& op = ops[role.next_op];
      if (op.kind == OpKind::host_sync && !passed(r, latest_record(r, at, op))) return issued;
      if (op.kind != OpKind::host_sync) issue(r, at, op);
      issued = true;
    }
    role.next_op = 0;
    ++role.next_call;
    return true;
  }

  bool passed(std::size_t r, const Point& point) const {
    return roles_[r].lines[static_cast<std::size_t>(point.stream)].passed >= point.position;
  }

  Point latest_record(std::size_t r, std::uint32_t call, const SyncOp& op) {
    const Point point = roles_[r].registers[op.event.of(program_.roles[r].calls[call])];
    if (point.position != kNeverRecorded) return point;
    violations_.add(place_text(program_, {r, call, op.op}) + ": nothing has recorded the event");
    return {.stream = op.stream, .position = 0};
  }

  static Line& line_of(RoleRun& role, Stream stream) {
    return role.lines[static_cast<std::size_t>(stream)];
  }

  void issue(std::size_t r, std::uint32_t call, const SyncOp& op) {
    RoleRun& role = roles_[r];
    Line& line = line_of(role, op.stream);
    if (op.kind == OpKind::record) {
      role.registers[op.event.of(program_.roles[r].calls[call])] = {op.stream, line.entered()};
      return;
    }
    Point until;
    if (op.kind == OpKind::wait) {
      until = op.joins ? Point{op.joined, line_of(role, op.joined).entered()}
                       : latest_record(r, call, op);
      if (passed(r, until)) return;
    }
    line.items.push_back({.op = &op, .call = call, .until = until});
    ++role.in_line;
    if (line.items.size() - line.head == 1 || op.grouped) advance(r, line);
  }

  /// Runs what can run at the head of the line.
  void advance(std::size_t r, Line& line) {
    const std::uint32_t before = line.passed;
    while (!line.empty()) {
      const Waiting& item = line.items[line.head];
      if (item.op->kind == OpKind::wait) {
        if (!passed(r, item.until)) break;
      } else {
        post(r, line);
        if (!met(r, item)) break;
      }
      ++line.head;
      ++line.passed;
    }
    if (line.passed == before) return;
    roles_[r].in_line -= line.passed - before;
    roles_[r].moved = true;
    line.drop_passed();
  }

  /// Announces the op at the head, and the transfers grouped with it.
  void post(std::size_t r, Line& line) {
    line.posted = std::max(line.posted, line.head);
    const auto grouped = [&] {
      const SyncOp& op = *line.items[line.posted].op;
      return op.grouped && (is_message(op.kind));
    };
    while (line.posted < line.items.size() && (line.posted == line.head || grouped())) {
      announce(r, line.items[line.posted]);
      ++line.posted;
    }
  }

  void announce(std::size_t r, Waiting& item) {
    const SyncOp& op = *item.op;
    if (op.kind == OpKind::collective) {
      item.ticket = roles_[r].arrived[op.channel]++;
      if (!met(r, item)) return;
      for (std::size_t other = 0; other < roles_.size(); ++other) {
        if (other != r) wake(other);
      }
      return;
    }
    Meeting& m = meetings_[op.channel];
    item.ticket = op.kind == OpKind::send ? m.sends++ : m.receives++;
    if (met(r, item)) wake(static_cast<std::size_t>(program_.ops[op.op].peer));
  }

  bool met(std::size_t r, const Waiting& item) const {
    const SyncOp& op = *item.op;
    if (op.kind == OpKind::send) return meetings_[op.channel].receives > item.ticket;
    if (op.kind == OpKind::recv) return meetings_[op.channel].sends > item.ticket;
    const Comm& comm = program_.comms[op.channel];
    for (std::size_t other = 0; other < roles_.size(); ++other) {
      const bool member = comm.has_stage(static_cast<int>(other), static_cast<int>(roles_.size()));
      if (member && other != r && roles_[other].arrived[op.channel] <= item.ticket) return false;
    }
    return true;
  }

  void report_stuck(std::size_t r) {
    const RoleRun& role = roles_[r];
    const std::vector<Call>& calls = program_.roles[r].calls;
    std::string text;
    for (const Line& line : role.lines) {
      if (line.empty()) continue;
      const Waiting& item = line.items[line.head];
      text += (text.empty() ? "" : "; ") + place_text(program_, {r, item.call, item.op->op});
    }
    if (role.next_call < calls.size())
      text += (text.empty() ? "" : "; ") +
              fmt::format("the host is at {}", call_text(program_, r, role.next_call));
    if (!text.empty()) violations_.add("stuck: " + text);
  }

  const ProgramFacts& facts_;
  const Program& program_;
  std::vector<RoleRun> roles_;
  std::vector<Meeting> meetings_;    // by channel
  std::vector<std::size_t> to_run_;  // roles, the last one next
  Violations violations_;
};

}  // namespace

std::vector<std::string> check_progress(const ProgramFacts& facts) {
  return DryRun(facts).run();
}

}  // namespace windtunnel

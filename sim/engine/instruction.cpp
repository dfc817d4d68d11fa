#include "sim/engine/instruction.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/check.h"

namespace windtunnel {

namespace {

constexpr std::uint32_t kUncompiled = kNone;

/// The ways a call's flags can stand: first and last micro-batch.
constexpr std::size_t kCallKinds = 4;
std::size_t kind_of_call(const Call& call) {
  return (call.first_micro_batch ? 1U : 0U) + (call.last_micro_batch ? 2U : 0U);
}

bool is_post(const Op& op) {
  return op.kind == OpKind::send || op.kind == OpKind::recv;
}

class Compiler {
 public:
  Compiler(const Program& program, const CompileOptions& options)
      : program_(program), options_(options) {
    for (const TimeKind kind :
         {TimeKind::bubble, TimeKind::straggler, TimeKind::host, TimeKind::input}) {
      result_.categories.push_back({.kind = kind});
    }
    for (std::uint32_t comm = 0; comm < program.comms.size(); ++comm) {
      result_.categories.push_back({.kind = TimeKind::exposed_comm, .comm = comm});
      result_.roles_of_comm.push_back(roles_meeting(program.comms[comm]));
    }
  }

  CompiledProgram run() {
    for (std::size_t role = 0; role < program_.roles.size(); ++role) compile_role(role);
    return std::move(result_);
  }

 private:
  int roles_meeting(const Comm& comm) const {
    const int roles = static_cast<int>(program_.roles.size());
    if ((comm.axes & kAxisPp) == 0) return 1;
    return comm.first_and_last_pp ? std::min(roles, 2) : roles;
  }

  std::uint16_t category(const TimeCategory& wanted) {
    const auto found = std::find(result_.categories.begin(), result_.categories.end(), wanted);
    if (found == result_.categories.end()) {
      result_.categories.push_back(wanted);
      return static_cast<std::uint16_t>(result_.categories.size() - 1);
    }
    return static_cast<std::uint16_t>(found - result_.categories.begin());
  }

  std::uint32_t channel(int source, int destination, std::uint32_t comm) {
    const auto [place, is_new] = channel_of_.try_emplace(
        {source, destination, comm}, static_cast<std::uint32_t>(result_.channels.size()));
    if (is_new) {
      result_.channels.push_back({.source = source, .destination = destination, .comm = comm});
    }
    return place->second;
  }

  void compile_role(std::size_t index) {
    const Role& role = program_.roles[index];
    RoleCode code;
    event_place_.assign(role.events.size(), 0);
    for (std::size_t e = 0; e < role.events.size(); ++e) {
      event_place_[e] = role.events[e].per_frame ? code.frame_events++ : code.static_events++;
    }
    find_shared_comms(role);
    int micro_batches = 1;
    for (const Call& call : role.calls)
      micro_batches = std::max(micro_batches, call.micro_batch + 1);
    code.micro_batches = static_cast<std::uint32_t>(micro_batches);
    code.frames = code.micro_batches * static_cast<std::uint32_t>(role.chunks.size());
    compiled_.assign(program_.segments.size() * kCallKinds, kUncompiled);
    code.code_of_call.reserve(role.calls.size());
    for (const Call& call : role.calls) {
      std::uint32_t& place = compiled_[call.segment * kCallKinds + kind_of_call(call)];
      if (place == kUncompiled) {
        place = static_cast<std::uint32_t>(code.code.size());
        code.code.push_back({.ops = compile_call(index, call), .event_ops = {}});
        mark_stretches(code);
        mark_event_ops(code.code.back());
      }
      code.code_of_call.push_back(place);
    }
    count_uses(role, code);
    result_.roles.push_back(std::move(code));
  }

  void find_shared_comms(const Role& role) {
    std::vector<std::uint32_t> streams(program_.comms.size(), 0);
    std::vector<bool> seen(program_.segments.size(), false);
    for (const Call& call : role.calls) {
      if (seen[call.segment]) continue;
      seen[call.segment] = true;
      for (const Op& op : program_.ops_of(call)) {
        if (op.kind == OpKind::collective) {
          streams[op.comm] |= 1U << static_cast<unsigned>(op.stream);
        }
      }
    }
    shared_comm_.clear();
    for (const std::uint32_t mask : streams) shared_comm_.push_back((mask & (mask - 1)) != 0);
  }

  static bool can_stretch(const Instruction& i) {
    return i.action == Action::compute || (i.action == Action::join && !i.shared_comm);
  }

  void mark_stretches(RoleCode& role) const {
    std::vector<Instruction>& ops = role.code.back().ops;
    Instruction* first = nullptr;
    for (Instruction& i : ops) {
      if (i.action != Action::compute && i.action != Action::join) {
        first = nullptr;
        continue;
      }
      const bool joins = first != nullptr && can_stretch(i) && can_stretch(*first) &&
                         (options_.stretch_launches == 0 ||
                          first->stretch_launches + i.launches <= options_.stretch_launches);
      if (!joins) {
        first = &i;
        i.stretch = role.stretches++;
      }
      ++first->stretch_ops;
      first->stretch_launches += i.launches;
    }
  }

  static void mark_event_ops(Code& code) {
    for (std::size_t k = 0; k < code.ops.size(); ++k) {
      const Action action = code.ops[k].action;
      if (action == Action::record || action == Action::wait || action == Action::host_sync) {
        code.event_ops.push_back(static_cast<std::uint32_t>(k));
      }
    }
  }

  /// Ops of the call in host order; what stands between the members of a group moves out of it:
  /// waits before it, everything else after it.
  std::vector<Instruction> compile_call(std::size_t role, const Call& call) {
    std::vector<const Op*> ops;
    for (const Op& op : program_.ops_of(call)) {
      const bool timed = op.kind != OpKind::alloc && op.kind != OpKind::free;
      if (timed && runs(op, call, options_.step)) ops.push_back(&op);
    }
    std::vector<Instruction> code;
    code.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size();) {
      const std::size_t end = is_post(*ops[i]) ? end_of_group(ops, i) : i + 1;
      const auto emit = [&](auto&& wanted) {
        for (std::size_t k = i; k < end; ++k) {
          if (wanted(*ops[k])) code.push_back(decode(role, *ops[k]));
        }
      };
      emit([](const Op& op) { return op.kind == OpKind::wait; });
      const std::size_t group = code.size();
      emit(is_post);
      for (std::size_t k = group; k + 1 < code.size(); ++k) code[k].more = true;
      emit([](const Op& op) { return op.kind != OpKind::wait && !is_post(op); });
      i = end;
    }
    return code;
  }

  static std::size_t end_of_group(const std::vector<const Op*>& ops, std::size_t begin) {
    std::size_t end = begin + 1;
    for (std::size_t k = begin + 1; k < ops.size(); ++k) {
      const Op& op = *ops[k];
      if (is_post(op)) {
        if (!op.grouped) break;
        end = k + 1;
      } else if (op.kind != OpKind::wait && op.kind != OpKind::record) {
        break;
      }
    }
    return end;
  }

  Instruction decode(std::size_t role, const Op& op) {
    Instruction i{.stream = op.stream,
                  .launches = op.launches,
                  .op = static_cast<std::uint32_t>(&op - program_.ops.data())};
    const bool on_compute = op.stream == Stream::compute;
    if (op.comm != kNone) {
      i.comm = static_cast<std::uint16_t>(op.comm);
      i.category = static_cast<std::uint16_t>(kFixedCategories + op.comm);
      i.shared_comm = shared_comm_[op.comm];
    }
    if (op.event != kNone) {
      i.event = event_place_[op.event];
      i.frame_event = program_.roles[role].events[op.event].per_frame;
    }
    switch (op.kind) {
      case OpKind::compute:
        decode_compute(op, i);
        break;
      case OpKind::collective:
        i.transfer = kind_of(op.collective);
        i.action = result_.roles_of_comm[op.comm] > 1 ? Action::meet
                   : on_compute                       ? Action::join
                                                      : Action::side_join;
        break;
      case OpKind::send:
      case OpKind::recv:
        decode_post(static_cast<int>(role), op, i);
        break;
      case OpKind::record:
        i.action = Action::record;
        break;
      case OpKind::wait:
        i.action = Action::wait;
        break;
      case OpKind::host_work:
        i.action = on_compute ? Action::host_work : Action::load;
        i.data = op.module == Module::data;
        i.category = i.data ? kInput : kHost;
        break;
      case OpKind::host_sync:
        i.action = Action::host_sync;
        break;
      case OpKind::alloc:
      case OpKind::free:
        CHECK(false, "memory ops take no time");
    }
    return i;
  }

  void decode_compute(const Op& op, Instruction& i) {
    i.action = op.stream == Stream::compute ? Action::compute : Action::side_compute;
    i.cls = op.shape == kNone ? KernelClass::none : row_of(program_.shapes[op.shape].kernel).cls;
    i.category = category(
        {.kind = TimeKind::compute, .module = op.module, .cls = i.cls, .recompute = op.recompute});
  }

  void decode_post(int role, const Op& op, Instruction& i) {
    i.action = Action::post;
    i.transfer = TransferKind::point_to_point;
    i.sends = op.kind == OpKind::send;
    i.joins = op.grouped;
    i.channel = i.sends ? channel(role, op.peer, op.comm) : channel(op.peer, role, op.comm);
  }

  /// Every event binds to its latest record in host order; counting the uses of each record ahead
  /// lets the sweep drop a completion after its last use.
  void count_uses(const Role& role, RoleCode& code) const {
    std::vector<std::uint32_t> latest(
        code.static_events + std::size_t{code.frames} * code.frame_events, kNone);
    for (std::size_t c = 0; c < role.calls.size(); ++c) {
      const bool in_frame = role.calls[c].chunk >= 0 && role.calls[c].micro_batch >= 0;
      const Code& called = code.code[code.code_of_call[c]];
      for (const std::uint32_t place : called.event_ops) {
        const Instruction& i = called.ops[place];
        CHECK(in_frame || !i.frame_event, "frame events belong to calls with a frame");
        if (i.action == Action::record) {
          latest[event_slot(code, role.calls[c], i)] =
              static_cast<std::uint32_t>(code.uses_of_record.size());
          code.uses_of_record.push_back(0);
        } else {
          const std::uint32_t record = latest[event_slot(code, role.calls[c], i)];
          if (record != kNone) ++code.uses_of_record[record];
        }
      }
    }
  }

  const Program& program_;
  const CompileOptions& options_;
  CompiledProgram result_;
  std::map<std::tuple<int, int, std::uint32_t>, std::uint32_t> channel_of_;
  // Of the role being compiled:
  std::vector<std::uint32_t> event_place_;
  std::vector<bool> shared_comm_;
  std::vector<std::uint32_t> compiled_;
};

}  // namespace

CompiledProgram compile(const Program& program, const CompileOptions& options) {
  return Compiler(program, options).run();
}

}  // namespace windtunnel

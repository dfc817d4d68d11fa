#include "sim/engine/instruction.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/check.h"
#include "sim/engine/comm_order.h"
#include "sim/engine/event_slots.h"

namespace windtunnel {

namespace {

constexpr std::uint32_t kUncompiled = kNone;
constexpr int kLongestStretch = 4096;  // ops, and launches

/// The ways a call's flags can stand: first and last micro-batch.
constexpr std::size_t kCallKinds = 4;
std::size_t kind_of_call(const Call& call) {
  return (call.first_micro_batch ? 1U : 0U) + (call.last_micro_batch ? 2U : 0U);
}

bool is_post(const Op& op) {
  return is_message(op.kind);
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
    return comm.stage_pair >= 0 ? std::min(roles, 2) : roles;
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
    const std::size_t chunks = role.chunks.size() + 1;  // and calls of none
    compiled_.assign(program_.segments.size() * kCallKinds * chunks, kUncompiled);
    code.code_of_call.reserve(role.calls.size());
    for (const Call& call : role.calls) {
      const std::size_t kind = call.segment * kCallKinds + kind_of_call(call);
      std::uint32_t& place = compiled_[kind * chunks + static_cast<std::size_t>(call.chunk + 1)];
      if (place == kUncompiled) {
        place = static_cast<std::uint32_t>(code.code.size());
        code.code.push_back(
            {.chunk = call.chunk, .ops = compile_call(index, call), .frame_ops = {}});
      }
      code.code_of_call.push_back(place);
    }
    place_events(role, code);
    mark_unordered_comms(code);
    for (Code& block : code.code) {
      mark_stretches(code, block.ops);
      for (const Instruction& i : block.ops) code.groups_go_on = code.groups_go_on || i.joins;
    }
    result_.roles.push_back(std::move(code));
  }

  void mark_unordered_comms(RoleCode& code) const {
    const std::vector<bool> unordered = find_unordered_comms(code, program_.comms.size());
    for (Code& block : code.code) {
      for (Instruction& i : block.ops) {
        i.keeps_order = i.transfer < TransferKind::point_to_point && unordered[i.comm];
      }
    }
  }

  bool fits(const Instruction& first, const Instruction& next) const {
    if (first.keeps_order || next.keeps_order) return false;
    const int launches = first.stretch_launches + next.launches;
    const int most = options_.stretch_launches;
    return first.stretch_ops < kLongestStretch && launches <= (most == 0 ? kLongestStretch : most);
  }

  void mark_stretches(RoleCode& role, std::vector<Instruction>& ops) const {
    Instruction* first = nullptr;
    for (Instruction& i : ops) {
      if (i.action != Action::compute && i.action != Action::join) {
        first = nullptr;
        continue;
      }
      if (first == nullptr || !fits(*first, i)) {
        first = &i;
        i.stretch = role.stretches++;
      }
      ++first->stretch_ops;
      first->stretch_launches = static_cast<std::uint16_t>(first->stretch_launches + i.launches);
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
                  .launches = op.captured ? std::uint8_t{0} : op.launches,
                  .op = static_cast<std::uint32_t>(&op - program_.ops.data())};
    const bool on_compute = op.stream == Stream::compute;
    if (op.comm != kNone) {
      i.comm = static_cast<std::uint16_t>(op.comm);
      i.category = static_cast<std::uint16_t>(kFixedCategories + op.comm);
    }
    if (op.event != kNone) i.place = op.event;
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
    i.place = i.sends ? channel(role, op.peer, op.comm) : channel(op.peer, role, op.comm);
  }

  const Program& program_;
  const CompileOptions& options_;
  CompiledProgram result_;
  std::map<std::tuple<int, int, std::uint32_t>, std::uint32_t> channel_of_;
  // Of the role being compiled:
  std::vector<std::uint32_t> compiled_;
};

}  // namespace

CompiledProgram compile(const Program& program, const CompileOptions& options) {
  return Compiler(program, options).run();
}

}  // namespace windtunnel

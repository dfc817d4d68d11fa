#include "program/verify_facts.h"

#include <fmt/format.h>

#include "program/op_names.h"

namespace windtunnel {

namespace {

constexpr std::size_t kMostTexts = 12;  // of one check: a screen

bool is_hand_over(const Program& program, const Op& op) {
  return op.kind == OpKind::compute && program.shapes[op.shape].kernel == Kernel::hand_over;
}

std::uint8_t action_of(const Program& program, const Op& op) {
  if (op.phase == Phase::weight_grad) return op.kind == OpKind::compute ? kWeightGrad : 0;
  const bool forward = op.phase == Phase::forward, backward = op.phase == Phase::backward;
  if (!forward && !backward) return 0;
  if (is_hand_over(program, op)) return forward ? kSendOutput : kSendGrad;
  switch (op.kind) {
    case OpKind::compute:
      return forward ? kForward : kBackward;
    case OpKind::recv:
      return forward ? kReceiveInput : kReceiveGrad;
    case OpKind::send:
      return forward ? kSendOutput : kSendGrad;
    default:
      return 0;
  }
}

std::uint32_t size32(const std::vector<std::uint32_t>& v) {
  return static_cast<std::uint32_t>(v.size());
}

std::string name_or_number(const Program& program, std::uint32_t name, std::size_t number) {
  return name < program.names.size() ? program.names[name] : fmt::format("#{}", number);
}

std::vector<SlotId> roots_of(const Role& role) {
  std::vector<SlotId> roots(role.slots.size());
  for (SlotId id = 0; id < roots.size(); ++id) {
    const SlotId parent = role.slots[id].parent;
    roots[id] = parent == kNone ? id : roots[parent];
  }
  return roots;
}

/// `variant_of` maps segment * 4 + flags to a variant; all kNone on entry and on return.
RoleFacts facts_of(const Role& role, const std::vector<SegmentFacts>& segments,
                   std::vector<std::uint32_t>& variant_of) {
  RoleFacts facts{.roots = roots_of(role)};
  const auto key_of = [&](const Call& call) {
    const unsigned flags = (call.first_micro_batch ? 1u : 0u) + (call.last_micro_batch ? 2u : 0u);
    return call.segment * std::size_t{4} + (segments[call.segment].by_micro_batch ? flags : 0u);
  };
  facts.variant_of_call.reserve(role.calls.size());
  for (std::uint32_t i = 0; i < role.calls.size(); ++i) {
    std::uint32_t& variant = variant_of[key_of(role.calls[i])];
    if (variant == kNone) {
      variant = static_cast<std::uint32_t>(facts.variants.size());
      facts.variants.push_back({.call = role.calls[i], .first_call = i});
    }
    CallVariant& v = facts.variants[variant];
    ++v.count;
    v.last_call = i;
    facts.variant_of_call.push_back(variant);
  }
  for (const CallVariant& v : facts.variants) variant_of[key_of(v.call)] = kNone;
  return facts;
}

}  // namespace

bool spans_roles(const Comm& comm) {
  return (comm.axes & kAxisPp) != 0;
}

ProgramFacts::ProgramFacts(const Program& p) : program(p) {
  segments.resize(p.segments.size());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    SegmentFacts& f = segments[s];
    f.transfers.begin = size32(transfers);
    f.shared.begin = size32(shared);
    for (std::uint32_t i = p.segments[s].op_begin; i < p.segments[s].op_end; ++i) {
      const Op& op = p.ops[i];
      f.actions |= action_of(p, op);
      f.hands_over |= is_hand_over(p, op);
      f.by_step |= op.when == When::first_step;
      f.by_micro_batch |= op.when != When::always && op.when != When::first_step;
      if (is_message(op.kind)) transfers.push_back(i);
      if (op.kind == OpKind::collective && spans_roles(p.comms[op.comm])) shared.push_back(i);
    }
    f.transfers.end = size32(transfers);
    f.shared.end = size32(shared);
  }
  std::vector<std::uint32_t> variant_of(segments.size() * 4, kNone);
  for (const Role& role : p.roles) roles.push_back(facts_of(role, segments, variant_of));
}

std::string slot_text(const Program& program, const Role& role, SlotId slot) {
  return name_or_number(program, role.slots[slot].name, slot);
}

std::string op_text(const Program& program, const Role& role, const Op& op) {
  std::string text = name_of(op.kind);
  if (op.kind == OpKind::compute && op.shape < program.shapes.size())
    text = name_of(program.shapes[op.shape].kernel);
  if (op.kind == OpKind::collective) text = name_of(op.collective);
  if (op.kind == OpKind::send) text += fmt::format(" to role {}", op.peer);
  if (op.kind == OpKind::recv) text += fmt::format(" from role {}", op.peer);
  if (op.comm < program.comms.size()) text += " on " + program.comms[op.comm].name;
  if (op.event < role.events.size())
    text += " of " + name_or_number(program, role.events[op.event].name, op.event);
  text += fmt::format(", stream {}", name_of(op.stream));
  for (std::size_t i = 0; i < op.refs; ++i)
    text += (i == 0 ? ", " : " ") + slot_text(program, role, program.operands(op)[i]);
  return text;
}

std::string call_text(const Program& program, std::size_t role, std::size_t call) {
  const Call& c = program.roles[role].calls[call];
  return fmt::format("role {} call {} '{}' (chunk {}, micro-batch {})", role, call,
                     name_or_number(program, program.segments[c.segment].name, c.segment), c.chunk,
                     c.micro_batch);
}

std::string place_text(const Program& program, const OpPlace& place) {
  const Role& role = program.roles[place.role];
  const Segment& segment = program.segments[role.calls[place.call].segment];
  return fmt::format("{} op {}: {}", call_text(program, place.role, place.call),
                     place.op - segment.op_begin, op_text(program, role, program.ops[place.op]));
}

std::string segment_op_text(const Program& program, std::size_t role, std::uint32_t segment,
                            std::uint32_t op) {
  const Segment& s = program.segments[segment];
  return fmt::format("role {} segment '{}' op {}: {}", role,
                     name_or_number(program, s.name, segment), op - s.op_begin,
                     op_text(program, program.roles[role], program.ops[op]));
}

void Violations::add(std::string text) {
  if (texts_.size() < kMostTexts) {
    texts_.push_back(std::move(text));
  } else {
    ++left_out_;
  }
}

std::vector<std::string> Violations::take() {
  if (left_out_ > 0) texts_.push_back(fmt::format("and {} more of these", left_out_));
  return std::move(texts_);
}

}  // namespace windtunnel

#include "runtime/op_text.h"

#include <fmt/format.h>

#include "program/op_names.h"
#include "runtime/message_board.h"

namespace windtunnel {

namespace {

std::string kind_text(const Program& program, const Op& op) {
  const auto comm = [&] {
    return op.comm < program.comms.size() ? program.comms[op.comm].name : std::string("no comm");
  };
  switch (op.kind) {
    case OpKind::compute:
      return name_of(program.shapes[op.shape].kernel);
    case OpKind::collective:
      return text_of(CollectiveShape{.collective = op.collective,
                                     .reduce = op.reduce,
                                     .elements = op.elements,
                                     .dtype = op.dtype,
                                     .distance = op.distance}) +
             " on " + comm();
    case OpKind::send:
      return fmt::format("send to role {} on {}", op.peer, comm());
    case OpKind::recv:
      return fmt::format("recv from role {} on {}", op.peer, comm());
    default:
      return name_of(op.kind);
  }
}

}  // namespace

std::string text_of(const Program& program, const Op& op) {
  return kind_text(program, op) + (op.layer >= 0 ? fmt::format(" of layer {}", op.layer) : "");
}

std::string text_of(const Program& program, const Call& call) {
  return fmt::format("'{}' (chunk {}, micro-batch {})",
                     program.names[program.segments[call.segment].name], call.chunk,
                     call.micro_batch);
}

}  // namespace windtunnel

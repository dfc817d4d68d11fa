#pragma once
// Two pipeline stages, one micro-batch: stage 0 computes and sends, stage 1 receives and computes.

#include "program/program.h"
#include "program/trace.h"

namespace windtunnel {

struct TracedProgram {
  Program program;
  Trace trace;
};

/// Stage 0 holds a weight of 1,000 bytes and an activation of 64 bytes while it sends.
inline TracedProgram two_stage_trace() {
  TracedProgram traced;
  Program& p = traced.program;
  p.names = {"weight", "activation", "setup", "forward \"0\"", "forward_1"};
  p.shapes = {{.kernel = Kernel::gemm_fwd, .bytes_read = 100, .bytes_written = 28}};
  p.comms = {{.name = "pp_fwd", .axes = kAxisPp}};
  p.refs = {0, 1};
  const auto memory = [](OpKind kind, std::uint32_t ref) {
    return Op{.kind = kind, .refs = 1, .ref_begin = ref};
  };
  const Op gemm{.kind = OpKind::compute,
                .phase = Phase::forward,
                .module = Module::mlp,
                .launches = 1,
                .layer = 3,
                .shape = 0};
  const Op send{.kind = OpKind::send,
                .stream = Stream::pp_send_fwd,
                .peer = 1,
                .comm = 0,
                .elements = 32,
                .dtype = Dtype::bf16};
  Op recv = send;
  recv.kind = OpKind::recv;
  recv.stream = Stream::pp_recv_fwd;
  recv.peer = 0;
  p.ops = {memory(OpKind::alloc, 0), memory(OpKind::alloc, 1), gemm, send,
           memory(OpKind::free, 1),  memory(OpKind::alloc, 1), recv, gemm,
           memory(OpKind::free, 1)};
  p.segments = {{.name = 2, .op_begin = 0, .op_end = 1},
                {.name = 3, .op_begin = 1, .op_end = 5},
                {.name = 4, .op_begin = 5, .op_end = 9}};
  const Slot weight{.elements = 1000,
                    .dtype = Dtype::uint8,
                    .space = Space::statics,
                    .category = Category::weights};
  const Slot activation{.elements = 32, .dtype = Dtype::bf16, .space = Space::frame, .chunk = 0};
  for (int stage = 0; stage < 2; ++stage) {
    p.roles.push_back(
        {.pipeline_rank = stage,
         .slots = {weight, activation},
         .prologue = {{.segment = 0}},
         .calls = {
             {.segment = static_cast<std::uint32_t>(1 + stage), .chunk = 0, .micro_batch = 0}}});
  }
  constexpr Picoseconds kUs = 1'000'000;
  traced.trace.records = {
      {.role = 0, .op = 2, .issue = 1 * kUs, .start = 2 * kUs, .end = 5 * kUs},
      {.role = 0,
       .stream = Stream::pp_send_fwd,
       .op = 3,
       .issue = 3 * kUs,
       .start = 5 * kUs,
       .end = 6 * kUs + 1500},
      {.role = 1,
       .stream = Stream::pp_recv_fwd,
       .op = 6,
       .issue = 1 * kUs,
       .start = 5 * kUs,
       .end = 6 * kUs + 1500},
      {.role = 1, .op = 7, .issue = 2 * kUs, .start = 7 * kUs, .end = 10 * kUs}};
  traced.trace.transfers = {{.send = 1, .recv = 2}};
  return traced;
}

}  // namespace windtunnel

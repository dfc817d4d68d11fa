// Does a measurement give a kernel the operands that a program gives it?

#include "calibrate/measure/kernel_operands.h"

#include <gtest/gtest.h>

#include <set>

#include "calibrate/measure/prepared_kernel.h"
#include "kernels/device/cpu_device.h"
#include "program/mesh.h"
#include "runtime/memory_range.h"
#include "tests/calibrate/measure/programs.h"

namespace windtunnel {
namespace {

/// Calls visit(op, slots' elements) for every compute op of every role's first rank.
template <class Visit>
void for_each_kernel(const Program& program, Visit visit) {
  for (const Role& role : program.roles) {
    Coordinates at;
    at.pp = role.pipeline_rank;
    std::set<std::uint32_t> seen;
    for (const Call& call : role.calls) {
      if (!seen.insert(call.segment).second) continue;
      for (const Op& op : program.ops_of(call)) {
        if (op.kind != OpKind::compute) continue;
        std::vector<std::int64_t> elements;
        for (const SlotId slot : program.operands(op)) {
          elements.push_back(resolve_range(program, role, at, {slot, call.micro_batch}).elements());
        }
        visit(op, elements);
      }
    }
  }
}

TEST(KernelOperands, AreThoseOfThePrograms) {
  std::set<Kernel> seen;
  for (const Program& program : many_programs()) {
    for_each_kernel(program, [&](const Op& op, const std::vector<std::int64_t>& elements) {
      const Shape& shape = program.shapes[op.shape];
      const std::string name = name_of(shape.kernel);
      const KernelOperands made = operands_of(shape);
      seen.insert(shape.kernel);
      // A program that does not clip leaves the coefficient out.
      const bool unclipped = shape.kernel == Kernel::adamw && op.inputs == 1;
      if (unclipped) return;
      EXPECT_EQ(made.inputs, op.inputs) << name;
      ASSERT_EQ(made.all.size(), elements.size()) << name;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const bool table = shape.kernel == Kernel::position_fwd && i == 1;  // may be longer
        if (table || shape.kernel == Kernel::position_bwd) {
          EXPECT_LE(made.all[i].elements, elements[i]) << name;
        } else {
          EXPECT_EQ(made.all[i].elements, elements[i]) << name << " operand " << i;
        }
      }
    });
  }
  // A program with one of these in place, for the others to be checked against.
  EXPECT_GE(seen.size(), 35U) << "the programs hold most kernels";
}

TEST(KernelOperands, EveryKernelOfTheProgramsRuns) {
  CpuDevice device({.streams = 1});
  for (const Program& program : many_programs()) {
    for (const Shape& shape : program.shapes) {
      const KernelClass cls = row_of(shape.kernel).cls;
      if (cls == KernelClass::host || cls == KernelClass::none) continue;
      PreparedKernel<double> kernel({.shape = shape, .job = program.job},
                                    {.touched_bytes = 1 << 21, .rotated_bytes = 1 << 18}, device);
      for (int i = 0; i < 3; ++i) {
        kernel.refresh();
        EXPECT_NO_THROW(kernel.run()) << name_of(shape.kernel);
      }
    }
  }
  EXPECT_EQ(device.memory().allocated, 0);
}

Shape product(Kernel kernel) {
  return {.kernel = kernel, .in = Dtype::fp32, .out = Dtype::fp32, .dims = {64, 32, 16}};
}

TEST(KernelOperands, TheFirstInputIsRecentButTheOptimizers) {
  const auto touched = [](const Shape& shape) {
    std::vector<bool> recent;
    for (const KernelOperand& o : operands_of(shape).all) {
      recent.push_back(o.touched == Touched::recent);
    }
    return recent;
  };
  EXPECT_EQ(touched(product(Kernel::gemm_fwd)), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(touched({.kernel = Kernel::zero, .dims = {8}}), std::vector<bool>{false});
  EXPECT_EQ(touched({.kernel = Kernel::sum_squares, .dims = {8}}), std::vector<bool>(2, false));
}

TEST(PreparedKernel, RotatesWhatTheStepHasLeftLongAgo) {
  CpuDevice device({.streams = 1});
  const std::int64_t old = 8 * (32 * 16 + 64 * 32);  // weight and output
  const auto copies = [&](std::int64_t touched, std::int64_t rotated) {
    return PreparedKernel<double>({.shape = product(Kernel::gemm_fwd), .job = {}},
                                  {.touched_bytes = touched, .rotated_bytes = rotated}, device)
        .copies();
  };
  constexpr std::int64_t kSmallStep = 1 << 20, kLargeStep = kSmallStep + 1;
  EXPECT_EQ(copies(kSmallStep, 5 * old), 1);
  EXPECT_EQ(copies(kLargeStep, 5 * old), 5);
  EXPECT_EQ(copies(kLargeStep, old / 2), 1);
  EXPECT_EQ(copies(kLargeStep, std::int64_t{1} << 30), 1024);
}

TEST(PreparedKernel, WhatDecaysIsFilledAgain) {
  CpuDevice device({.streams = 1});
  const Shape scale{.kernel = Kernel::scale, .dims = {100, 8}};
  PreparedKernel<double> kernel({.shape = scale, .job = {}}, {}, device);
  EXPECT_TRUE(kernel.decays());
  PreparedKernel<double> other({.shape = product(Kernel::gemm_wgrad), .job = {}}, {}, device);
  EXPECT_FALSE(other.decays());
}

TEST(PreparedKernel, GivesBackWhatItTookWhenThereIsNotEnough) {
  CpuDevice device({.streams = 1, .capacity_bytes = std::int64_t{1} << 30});
  Shape large = product(Kernel::gemm_fwd);
  large.dims = {1 << 13, 1 << 13, 1 << 13};  // half a GiB each of three
  EXPECT_THROW(PreparedKernel<double>({.shape = large, .job = {}}, {}, device), OutOfDeviceMemory);
  EXPECT_EQ(device.memory().allocated, 0);
}

}  // namespace
}  // namespace windtunnel

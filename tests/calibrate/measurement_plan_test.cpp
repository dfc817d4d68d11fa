// What is measured first, and is the grid spread around it?

#include "calibrate/measurement_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/device/cpu_device.h"
#include "models/cost/calibration.h"
#include "models/cost/shape_work.h"
#include "tests/calibrate/measure/programs.h"

namespace windtunnel {
namespace {

MeasurementPlan plan_of(const PlanOptions& options = {}) {
  return plan_measurements(many_programs(), options);
}

TEST(MeasurementPlan, EveryKernelOnceThenTheDearest) {
  const MeasurementPlan plan = plan_of();
  std::set<KernelKey> first, all;
  bool needed = true;
  for (const PlannedKernel& p : plan.scenario) {
    const KernelKey key{p.task.shape.kernel, p.task.shape.in};
    if (p.needed) {
      EXPECT_TRUE(needed) << "what is needed stands first";
      EXPECT_TRUE(first.insert(key).second);
    }
    needed = p.needed;
    all.insert(key);
  }
  EXPECT_EQ(first, all);
  EXPECT_LT(first.size(), plan.scenario.size());
}

TEST(MeasurementPlan, HoldsEveryShapeOfTheScenarios) {
  std::set<MeasuredShape> planned;
  for (const PlannedKernel& p : plan_of().scenario) {
    EXPECT_TRUE(planned.insert(measured_shape(p.task.shape)).second) << "each once";
    EXPECT_GT(p.touched_bytes, 0);
  }
  for (const Program& program : many_programs()) {
    for (const ShapeUse& use : list_shapes(program).kernels) {
      EXPECT_TRUE(planned.contains(measured_shape(use.shape)));
    }
  }
}

TEST(MeasurementPlan, TheGridSurroundsTheScenarios) {
  const MeasurementPlan plan = plan_of();
  std::set<MeasuredShape> taken;
  for (const PlannedKernel& p : plan.scenario) taken.insert(measured_shape(p.task.shape));
  double least = 1e30, most = 0.0;
  int points = 0;
  for (const PlannedKernel& p : plan.grid) {
    const Shape& s = p.task.shape;
    EXPECT_TRUE(taken.insert(measured_shape(s)).second) << "nothing twice";
    EXPECT_FALSE(p.needed);
    if (s.kernel != Kernel::gemm_fwd) continue;
    least = std::min(least, shape_work(s).flops);
    most = std::max(most, shape_work(s).flops);
    ++points;
  }
  EXPECT_GE(points, 20);
  // A shape's points go over a factor of 8 in each of three dimensions.
  EXPECT_GT(most / least, 64.0);
}

TEST(MeasurementPlan, TheSeedMovesTheGrid) {
  const auto shapes = [](std::uint64_t seed) {
    std::set<MeasuredShape> all;
    for (const PlannedKernel& p : plan_of({.seed = seed}).grid) {
      all.insert(measured_shape(p.task.shape));
    }
    return all;
  };
  EXPECT_EQ(shapes(1), shapes(1));
  EXPECT_NE(shapes(1), shapes(2));
}

TEST(MeasurementPlan, EveryGridPointRuns) {
  CpuDevice device({.streams = 1});
  for (const PlannedKernel& p : plan_of({.points = 5}).grid) {
    PreparedKernel<double> kernel(p.task, {}, device);
    EXPECT_NO_THROW(kernel.run()) << name_of(p.task.shape.kernel);
    EXPECT_GE(p.task.shape.bytes_read + p.task.shape.bytes_written, 0);
  }
}

TEST(MeasurementPlan, LimitsHold) {
  const MeasurementPlan plan = plan_of({.of_point = {.bytes = 1 << 16, .rough_seconds = 1e-6},
                                        .of_scenario = {.bytes = 1 << 16, .rough_seconds = 1e-6}});
  std::set<Kernel> kernels;
  for (const PlannedKernel& p : plan.scenario) {
    EXPECT_LE(rough_seconds(p.task.shape), 1e-6);
    kernels.insert(p.task.shape.kernel);
  }
  for (const PlannedKernel& p : plan.grid) EXPECT_LE(rough_seconds(p.task.shape), 1e-6);
  EXPECT_TRUE(kernels.contains(Kernel::gemm_fwd)) << "halved, not left out";
}

TEST(MeasurementPlan, TransfersOfAllProgramsOnce) {
  const MeasurementPlan plan = plan_of();
  std::set<std::tuple<CommKind, std::int64_t, std::vector<std::vector<int>>, Dtype>> seen;
  for (const TransferUse& t : plan.transfers) {
    EXPECT_TRUE(seen.insert({t.kind, t.elements, t.groups, t.dtype}).second);
  }
  EXPECT_GT(seen.size(), 4U);
}

}  // namespace
}  // namespace windtunnel

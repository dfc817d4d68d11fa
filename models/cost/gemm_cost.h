#pragma once
// Time of matrix products: a tile-and-wave model, corrected by the nearest measured shapes.
//
// The output is cut into tiles; the chip runs one tile per SM at a time, so time goes with waves.
//   tiles = ceil(m/tm) ceil(n/tn) batch splits          x = tiles / SMs
//   waves = quantisation ceil(x) + (1 - quantisation) max(x, partial_wave)
//   tile  = 2 tm tn (k/splits + ramp) / (efficiency peak reuse / SMs)
//           + epilogue tm tn output_bytes / (bandwidth / SMs)
//   reuse = area/(area + half) over its value for the largest tile
//   time  = fixed + max(min over tile shapes and splits of waves tile, bytes / bandwidth)
// with peak in FLOP/s of the input type, bandwidth = memory_efficiency times the memory's, and
// efficiency lowered by up to power_drop for kernels of many FLOP (the power limit).
//
// Products on streams in turn, `turns` of them, run as one: the next one's tiles fill the SMs that
// the last wave of one leaves. x is then that of all, and each takes its part of the waves.
//
// Rows that are not a multiple of 16 bytes lower the rate by the profile's alignment steps; batched
// products with such rows leave the tensor cores and run at a share of the fp32 peak.
//
// A measured shape (same m, n, k, layout, accumulation) is taken as it is. Near shapes correct the
// model: the mean of the four nearest log residuals, weighted by exp(-distance / 0.3) with the
// weight 0.3 on "no correction"; distance is Euclidean in (ln m, ln n, ln k). docs/cost_gemm.md has
// the fit, its data and its error. Valid for m >= 1; for m < 64 the memory bound takes over.

#include "models/cost/gemm_problem.h"

namespace windtunnel {

/// The model alone, no table.
Seconds modelled_gemm_time(const Profile& profile, const GemmProblem& problem);

/// The cost of a gemm-class shape: the sum over its products.
OpCost gemm_cost(const Profile& profile, const Shape& shape);

/// One product through table, residual or model.
OpCost gemm_problem_cost(const Profile& profile, const GemmProblem& problem);

/// Leave-one-out check of a profile's tables: for each row, log(predicted / measured) without it.
/// `min_dimension` leaves out rows with a dimension below it.
std::vector<double> gemm_leave_one_out(const Profile& profile, double min_dimension);

}  // namespace windtunnel

#include "kernels/cpu/norm.h"

#include <Eigen/Core>
#include <cmath>

namespace windtunnel::cpu {

namespace {

template <class T>
using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

}  // namespace

template <class T>
void layernorm_fwd(const NormDims& dims, const NormForward<T>& o) {
  const ConstRow<T> gamma(o.gamma, dims.h), beta(o.beta, dims.h);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const ConstRow<T> x(o.x + r * dims.h, dims.h);
    const T mean = x.mean();
    const T rstd = 1 / std::sqrt((x - mean).square().mean() + T(kNormEpsilon));
    o.stats[r] = mean;
    o.stats[dims.t + r] = rstd;
    Row<T>(o.y + r * dims.h, dims.h) = (x - mean) * rstd * gamma + beta;
  }
}

template <class T>
void layernorm_bwd(const NormDims& dims, const NormBackward<T>& o) {
  const ConstRow<T> gamma(o.gamma, dims.h);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const ConstRow<T> x(o.x + r * dims.h, dims.h), dy(o.dy + r * dims.h, dims.h);
    const T mean = o.stats[r], rstd = o.stats[dims.t + r];
    const auto xhat = (x - mean) * rstd;
    const T mean_g = (dy * gamma).mean();
    const T mean_gx = (dy * gamma * xhat).mean();
    if (o.dgamma) {
      Row<T>(o.dgamma, dims.h) += dy * xhat;
      Row<T>(o.dbeta, dims.h) += dy;
    }
    Row<T>(o.dx + r * dims.h, dims.h) = rstd * (dy * gamma - mean_g - xhat * mean_gx);
  }
}

template <class T>
void rmsnorm_fwd(const NormDims& dims, const NormForward<T>& o) {
  const ConstRow<T> gamma(o.gamma, dims.h);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const ConstRow<T> x(o.x + r * dims.h, dims.h);
    const T rms = 1 / std::sqrt(x.square().mean() + T(kNormEpsilon));
    o.stats[r] = rms;
    Row<T>(o.y + r * dims.h, dims.h) = x * rms * gamma;
  }
}

template <class T>
void rmsnorm_bwd(const NormDims& dims, const NormBackward<T>& o) {
  const ConstRow<T> gamma(o.gamma, dims.h);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const ConstRow<T> x(o.x + r * dims.h, dims.h), dy(o.dy + r * dims.h, dims.h);
    const T rms = o.stats[r];
    const auto xhat = x * rms;
    const T mean_gx = (dy * gamma * xhat).mean();
    if (o.dgamma) Row<T>(o.dgamma, dims.h) += dy * xhat;
    Row<T>(o.dx + r * dims.h, dims.h) = rms * (dy * gamma - xhat * mean_gx);
  }
}

template void layernorm_fwd(const NormDims&, const NormForward<float>&);
template void layernorm_fwd(const NormDims&, const NormForward<double>&);
template void layernorm_bwd(const NormDims&, const NormBackward<float>&);
template void layernorm_bwd(const NormDims&, const NormBackward<double>&);
template void rmsnorm_fwd(const NormDims&, const NormForward<float>&);
template void rmsnorm_fwd(const NormDims&, const NormForward<double>&);
template void rmsnorm_bwd(const NormDims&, const NormBackward<float>&);
template void rmsnorm_bwd(const NormDims&, const NormBackward<double>&);

}  // namespace windtunnel::cpu

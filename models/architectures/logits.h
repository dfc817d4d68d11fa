#pragma once
// Memory of the logits (T, V): usually the largest tensor of the last stage.
//
// A plain cross-entropy keeps them in the compute type and once more in fp32; a fused or chunked
// one never holds the fp32 copy whole.

#include <cstdint>

#include "core/dtype.h"
#include "core/units.h"

namespace windtunnel {

struct LogitsShape {
  std::int64_t tokens = 0, vocab_rows = 0;
};

constexpr Bytes logits_bytes(const LogitsShape& shape, Dtype dtype) {
  return {static_cast<double>(bytes_of(dtype, shape.tokens * shape.vocab_rows))};
}

}  // namespace windtunnel

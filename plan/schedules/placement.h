#pragma once
// Where the chunks of a model lie on the pipeline ranks. A rank runs its chunks under local numbers
// 0, 1, ...; along the model they have global numbers 0 .. n-1, in the order of the forward pass.
//
//   loop      chunk c of rank r is global chunk c p + r; n = p v.
//   v_shape   chunk 0 of rank r is r, chunk 1 is 2p - 1 - r; n = 2p. The last rank holds the two
//             middle chunks: nothing is sent between them.
//   two_way   two copies of a model of n = p chunks, in opposite directions: chunk 0 of rank r
//             is r, chunk 1 is p - 1 - r. Micro-batches [0, m/2) run on chunks 0, from rank 0
//             on; [m/2, m) on chunks 1, from rank p - 1 on.
//
// Sources: loop Narayanan et al. 2021 (2104.04473); v_shape Qi et al. 2023 (2401.10241), section 6;
// two_way DeepSeek-V3 (2412.19437), section 3.2, deepseek-ai/DualPipe.

#include <cstdint>

namespace windtunnel {

struct ScheduleShape;

enum class ChunkPlacement : std::uint8_t { loop, v_shape, two_way };

struct LocalChunk {
  int rank = 0;
  int chunk = 0;  // local

  friend bool operator==(const LocalChunk&, const LocalChunk&) = default;
};

/// Chunks each rank runs: v, or 2 where the placement says so.
int chunks_per_rank(ChunkPlacement placement, const ScheduleShape& shape);

/// n: chunks of one model.
int global_chunks(ChunkPlacement placement, const ScheduleShape& shape);

/// Position along the model of chunk `chunk` of rank `rank`.
int global_chunk(ChunkPlacement placement, const ScheduleShape& shape, LocalChunk place);

/// The rank and its chunk that run `micro_batch` through global chunk `global`: the inverse. Only
/// two_way depends on the micro-batch.
LocalChunk local_chunk(ChunkPlacement placement, const ScheduleShape& shape, int global,
                       int micro_batch);

}  // namespace windtunnel

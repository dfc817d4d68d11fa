#include "plan/schedules/placement.h"

#include "core/check.h"
#include "plan/schedules/schedule.h"

namespace windtunnel {

int chunks_per_rank(ChunkPlacement placement, const ScheduleShape& shape) {
  return placement == ChunkPlacement::loop ? shape.virtual_stages : 2;
}

int global_chunks(ChunkPlacement placement, const ScheduleShape& shape) {
  return placement == ChunkPlacement::two_way ? shape.pp
                                              : shape.pp * chunks_per_rank(placement, shape);
}

int global_chunk(ChunkPlacement placement, const ScheduleShape& shape, LocalChunk place) {
  CHECK(place.chunk >= 0 && place.chunk < chunks_per_rank(placement, shape),
        "a rank runs only its own chunks");
  if (placement == ChunkPlacement::loop) return place.chunk * shape.pp + place.rank;
  return place.chunk == 0 ? place.rank : global_chunks(placement, shape) - 1 - place.rank;
}

LocalChunk local_chunk(ChunkPlacement placement, const ScheduleShape& shape, int global,
                       int micro_batch) {
  const int last = global_chunks(placement, shape) - 1;
  CHECK(global >= 0 && global <= last, "the model has no such chunk");
  if (placement == ChunkPlacement::loop)
    return {.rank = global % shape.pp, .chunk = global / shape.pp};
  const bool mirrored = placement == ChunkPlacement::v_shape
                            ? global >= shape.pp
                            : micro_batch >= shape.micro_batches / 2;
  return mirrored ? LocalChunk{.rank = last - global, .chunk = 1}
                  : LocalChunk{.rank = global, .chunk = 0};
}

}  // namespace windtunnel

#pragma once
// How fast a folder takes and gives a checkpoint: large sequential writes until the disk says they
// are there, and reads that do not come from the system's cache (where it can be told to drop it).

#include <cstdint>
#include <filesystem>

#include "calibrate/fit/robust.h"

namespace windtunnel {

struct StorageTiming {
  RobustSummary write, read;  // seconds for `bytes`
  std::int64_t bytes = 0;
};

struct StorageOptions {
  std::int64_t bytes = std::int64_t{64} << 20;
  int repeats = 3;
};

/// In a nameless file of `folder`, gone afterwards. Throws InputError: no such folder, no
/// permission, disk full.
StorageTiming measure_storage(const std::filesystem::path& folder, const StorageOptions& options);

}  // namespace windtunnel

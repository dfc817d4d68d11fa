#pragma once
// Where the data files lie that ship beside the program: `scenarios/clusters`,
// `scenarios/profiles`, `models/architectures/zoo`. The environment variable WINDTUNNEL_DATA names
// the folder that holds them; without it, it is the source tree the program was built from.

#include <string>

namespace windtunnel {

/// Absolute or as given in WINDTUNNEL_DATA; never empty, no slash at the end. Not checked to exist.
std::string data_dir();

}  // namespace windtunnel

#pragma once
// What the exit status of every verb means.

namespace windtunnel {

enum ExitCode : int {
  kExitOk = 0,
  kExitDoesNotFit = 1,     // or over a threshold, or two things differ
  kExitBadInput = 2,       // bad usage or input
  kExitMissing = 3,        // needed hardware or software is missing
  kExitRunFailed = 4,      // a rank died or hung
  kExitInternalError = 70  // a bug of ours
};

}  // namespace windtunnel

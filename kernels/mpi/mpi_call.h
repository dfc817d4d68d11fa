#pragma once
// MPI errors as TransferError. Included by sources of this folder only.

#include <mpi.h>

#include <string>

#include "kernels/device/communicator.h"

namespace windtunnel {

/// Throws TransferError naming the call when `status` is not success.
inline void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  PMPI_Error_string(status, text, &length);
  throw TransferError(std::string(call) + ": " + text);
}

}  // namespace windtunnel

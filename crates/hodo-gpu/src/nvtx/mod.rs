//! NVTX ranges and marks as scopes and marks.

#pragma once
#include <cerrno>

#include "base/result.h"

namespace memscope {

// The error of a read that was not done because no helper process could do it.
inline constexpr int kNoHelper = ECONNABORTED;

// True if the error says nothing about the process or the file that was to be read, so that the read should be repeated
// later: the process blocks its readers, no helper process could read it, or no file descriptor or memory was free.
inline bool is_retryable(const Error& error) {
    return error.code == std::errc::timed_out || error.code == std::errc::connection_aborted ||
           error.code == std::errc::too_many_files_open || error.code == std::errc::too_many_files_open_in_system ||
           error.code == std::errc::not_enough_memory || error.code == std::errc::resource_unavailable_try_again ||
           error.code == std::errc::operation_canceled;
}

}  // namespace memscope

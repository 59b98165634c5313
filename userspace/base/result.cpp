#include "base/result.h"

#include "base/text.h"

namespace memscope {

std::string Error::message() const {
    std::string text = printable(where);
    if (code) text += (text.empty() ? "" : ": ") + code.message();
    if (!advice.empty()) text += (text.empty() ? "" : "; ") + printable(advice);
    return text;
}

Error system_error(int number, std::string where, std::string advice) {
    return {std::error_code(number, std::generic_category()), std::move(where), std::move(advice)};
}

Error plain_error(std::string where, std::string advice) { return {{}, std::move(where), std::move(advice)}; }

bool is_retryable(const Error& error) {
    return error.code == std::errc::timed_out || error.code == std::errc::connection_aborted ||
           error.code == std::errc::too_many_files_open || error.code == std::errc::too_many_files_open_in_system ||
           error.code == std::errc::not_enough_memory || error.code == std::errc::resource_unavailable_try_again ||
           error.code == std::errc::operation_canceled;
}

}  // namespace memscope

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

}  // namespace memscope

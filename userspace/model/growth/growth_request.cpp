#include "model/growth/growth_request.h"

#include "base/text.h"

namespace memscope {

Status parse_since(std::string_view text, GrowthRequest& request) {
    if (text == "start" || text == "warmup") {
        request.since = text == "start" ? GrowthRequest::Since::start : GrowthRequest::Since::warmup;
        return Done{};
    }
    const auto ago = parse_duration(text);
    if (!ago || ago->count() <= 0)
        return plain_error("'" + shortened(printable(text)) + "' is neither start, nor warmup, nor a time such as 10m");
    request.since = GrowthRequest::Since::ago;
    request.ago = *ago;
    return Done{};
}

Status parse_at(std::string_view text, GrowthRequest& request) {
    if (text != "now" && text != "peak")
        return plain_error("'" + shortened(printable(text)) + "' is neither now nor peak");
    request.at_peak = text == "peak";
    return Done{};
}

}  // namespace memscope

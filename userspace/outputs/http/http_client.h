#pragma once
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "outputs/http/http_message.h"

namespace memscope {

// A GET on the socket of a running watcher. Bounded in time and size (64 MiB). Any HTTP status is a response, not an
// error.
Result<HttpResponse> http_get_unix(const fs::path& socket, const std::string& path_and_query, Seconds timeout);

// For a value in a query: everything but letters, digits and -._~ becomes %XX.
std::string percent_encoded(std::string_view bytes);

// Parses the received bytes. Error if the response is incomplete.
Result<HttpResponse> parse_http_response(std::string_view bytes);

}  // namespace memscope

#pragma once
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "outputs/http/http_message.h"

namespace memscope {

// A GET on a running watcher's socket. Bounded in time and size (64 MiB); any status is a response, not an error.
Result<HttpResponse> http_get_unix(const fs::path& socket, const std::string& path_and_query, Seconds timeout);

// For a value in a query: everything but letters, digits and -._~ becomes %XX.
std::string percent_encoded(std::string_view bytes);

// What came over the wire, as a response; an error if it is not whole.
Result<HttpResponse> parse_http_response(std::string_view bytes);

}  // namespace memscope

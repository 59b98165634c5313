#pragma once
#include "outputs/http/http_message.h"
#include "web/browser_session.h"
#include "web/page_data.h"
#include "web/page_files.h"

namespace memscope::web {

// The page and its data, for browsers with a session. All three arguments must outlive the handler.
HttpHandler make_page_routes(const PageFiles& files, const PageData& data, BrowserSession& session);

}  // namespace memscope::web

#pragma once
#include "outputs/board.h"
#include "outputs/http_message.h"

namespace memscope {

struct RouteOptions {
    bool status = false;  // also /api/v1/status, /api/v1/targets, /api/v1/text: they name processes and commands
};

// What is served where. The board must outlive the handler.
HttpHandler make_routes(const Board& board, RouteOptions options);

}  // namespace memscope

#include "outputs/http/http_client.h"

#include <gtest/gtest.h>

namespace memscope {
namespace http_client_test {

TEST(HttpClient, DistinguishesAWholeAnswerFromABrokenOne) {
    EXPECT_TRUE(parse_http_response("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"));
    EXPECT_FALSE(parse_http_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"));
    EXPECT_FALSE(parse_http_response("HTTP/1.1 200 OK\r\nContent-Len"));
    EXPECT_FALSE(parse_http_response("HTTP/1.1 2x0 OK\r\n\r\n"));
    EXPECT_FALSE(parse_http_response(""));
}

}  // namespace http_client_test
}  // namespace memscope

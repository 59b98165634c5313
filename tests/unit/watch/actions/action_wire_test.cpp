#include "watch/actions/action_wire.h"

#include <gmock/gmock.h>

namespace memscope {
namespace action_wire_test {

using testing::ElementsAre;

const ActionRequest kRequest{.id = 7,
                             .event = ActionEvent::death,
                             .environment = {"MEMSCOPE_PID=12", "MEMSCOPE_COMM=a b=c", "MEMSCOPE_RANK="},
                             .facts = "{\"event\":\"death\"}"};

std::string encoded(const ActionRequest& request) {
    const auto bytes = encode_request(request);
    if (bytes) return *bytes;
    ADD_FAILURE() << bytes.error().message();
    return {};
}

TEST(ActionWire, ARequestIsDecodedAsItWasEncoded) {
    const auto request = decode_request(encoded(kRequest));
    ASSERT_TRUE(request);
    EXPECT_EQ(request->id, 7);
    EXPECT_EQ(request->event, ActionEvent::death);
    EXPECT_THAT(request->environment, ElementsAre("MEMSCOPE_PID=12", "MEMSCOPE_COMM=a b=c", "MEMSCOPE_RANK="));
    EXPECT_EQ(request->facts, kRequest.facts);
    ASSERT_TRUE(decode_request(encoded({})));
}

TEST(ActionWire, RefusesVariablesOtherThanMemscopes) {
    for (const auto* variable : {"LD_PRELOAD=/tmp/x.so", "PATH=/tmp", "MEMSCOPE_", "MEMSCOPE_=x", "MEMSCOPE_a=1",
                                 "MEMSCOPE_X", "", "=MEMSCOPE_X"}) {
        ActionRequest request = kRequest;
        request.environment.emplace_back(variable);
        EXPECT_FALSE(decode_request(encoded(request))) << variable;
    }
}

TEST(ActionWire, ANulInAValueCannotMakeAnotherVariable) {
    ActionRequest request = kRequest;
    request.environment = {std::string("MEMSCOPE_COMM=a\0LD_PRELOAD=x", 28)};
    const auto decoded = decode_request(encoded(request));
    ASSERT_TRUE(decoded);
    EXPECT_THAT(decoded->environment, ElementsAre("MEMSCOPE_COMM=a"));
}

TEST(ActionWire, RefusesTruncatedOverlongAndUnknownRequests) {
    const std::string whole = encoded(kRequest);
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(decode_request(whole.substr(0, n))) << n;
    EXPECT_FALSE(decode_request(whole + "x"));
    std::string other = whole;
    other[4] = 2;
    EXPECT_FALSE(decode_request(other)) << "no such event";
    std::string huge = whole;
    huge.replace(8, 8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    EXPECT_FALSE(decode_request(huge)) << "sizes that overflow";
}

TEST(ActionWire, DoesNotSendARequestAboveTheBounds) {
    EXPECT_FALSE(encode_request({.facts = std::string(kMostRequestBytes, 'x')}));
    EXPECT_FALSE(encode_request({.environment = std::vector<std::string>(kMostVariables + 1, "MEMSCOPE_X=1")}));
}

}  // namespace action_wire_test
}  // namespace memscope

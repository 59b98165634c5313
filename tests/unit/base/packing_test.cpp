#include "base/packing.h"

#include <gtest/gtest.h>

namespace memscope {
namespace packing_test {

struct Inner {
    std::string name{};
    auto fields() { return std::tie(name); }
};
struct Outer {
    std::shared_ptr<const Inner> inner{};
    int number = 0;
    auto fields() { return std::tie(inner, number); }
};

Outer sent(const Outer& value) {
    Packer packer;
    packer.put(Result<Outer>(value));
    const auto back = Unpacker::result<Outer>(packer.bytes(), {});
    EXPECT_TRUE(back);
    return back ? *back : Outer{};
}

struct Forgetful {
    std::string name{};
    std::optional<int> forgotten{};
    auto fields() { return std::tie(name); }
};

TEST(Packing, AStructMustListAllItsMembers) {
    EXPECT_TRUE(lists_all_members<Inner>());
    EXPECT_TRUE(lists_all_members<Outer>());
    EXPECT_FALSE(lists_all_members<Forgetful>());
}

TEST(Packing, ASharedValueArrives) {
    const Outer back = sent({.inner = std::make_shared<const Inner>(Inner{.name = "list"}), .number = 7});
    ASSERT_TRUE(back.inner);
    EXPECT_EQ(back.inner->name, "list");
    EXPECT_EQ(back.number, 7);
}

TEST(Packing, AMissingSharedValueStaysMissing) {
    EXPECT_FALSE(sent({.inner = {}, .number = 7}).inner);
    EXPECT_EQ(sent({.inner = {}, .number = 7}).number, 7);
}

TEST(Packing, ATruncatedSharedValueIsAnError) {
    Packer packer;
    packer.put(Result<Outer>(Outer{.inner = std::make_shared<const Inner>(Inner{.name = "list"}), .number = 7}));
    for (std::size_t size = 0; size < packer.bytes().size(); ++size)
        EXPECT_FALSE(Unpacker::result<Outer>(std::string_view(packer.bytes()).substr(0, size), {})) << size;
}

}  // namespace packing_test
}  // namespace memscope

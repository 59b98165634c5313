#include "sources/elf/demangle.h"

#include <gtest/gtest.h>
#include <string>

namespace memscope {
namespace demangle_test {

TEST(Demangle, NamesAreShownAsTheyWereWritten) {
    EXPECT_EQ(demangled("_ZN3c106detail5allocEmRKSs"), "c10::detail::alloc(unsigned long, std::string const&)");
    EXPECT_EQ(demangled("malloc"), "malloc");
    EXPECT_EQ(demangled("_Zbroken"), "_Zbroken");
    EXPECT_EQ(demangled(""), "");
    EXPECT_EQ(demangled("_RNvC5crate4main"), "_RNvC5crate4main");
}

TEST(Demangle, DoesNotExpandANameOfExponentialSize) {
    // f(p<int, int>, p<S1, S1>, p<S2, S2>, ...): each parameter is twice as long as the one before.
    std::string name = "_Z1f1pIiiE";
    constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < 34; ++i) {
        const std::string before = std::string("S") + kDigits[i] + "_";
        name += "S_I" + before + before + "E";
    }
    EXPECT_GT(demangled_size_bound(name), 1e9);
    EXPECT_EQ(demangled(name), name);
}

}  // namespace demangle_test
}  // namespace memscope

#include <gmock/gmock.h>

#include "cli/arguments/config.h"
#include "unit/cli/arguments/parsed.h"

namespace memscope {
namespace config_roles_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string refused(const std::string& toml) { return refusal({"--cgroup", "a"}, config_at(kDefaultConfig, toml)); }

TEST(ConfigRoles, RulesKeepTheirOrder) {
    const auto rules = parsed<WatchOptions>({"--cgroup", "a"}, config_at(kDefaultConfig, R"(
[[role]]
role = "launcher"
program = "submit*"

[[role]]
role = "dataloader_worker"
comm = "feeder-*"
argument = "--queue=*"
parent = "trainer"
forked_without_exec = true
)"))
                           .role_rules;
    ASSERT_EQ(rules.size(), 2U);
    EXPECT_EQ(rules[0].role, Role::launcher);
    EXPECT_EQ(rules[0].program, "submit*");
    EXPECT_EQ(rules[0].comm, "");
    EXPECT_EQ(rules[0].parent, std::nullopt);
    EXPECT_EQ(rules[0].forked_without_exec, std::nullopt);
    EXPECT_EQ(rules[1].role, Role::dataloader_worker);
    EXPECT_EQ(rules[1].comm, "feeder-*");
    EXPECT_EQ(rules[1].program, "");
    EXPECT_EQ(rules[1].argument, "--queue=*");
    EXPECT_EQ(rules[1].parent, Role::trainer);
    EXPECT_EQ(rules[1].forked_without_exec, true);
}

TEST(ConfigRoles, AnUnknownRoleListsTheRoles) {
    for (const char* key : {"role", "parent"})
        EXPECT_THAT(refused("[[role]]\ncomm = 'x'\n" + std::string(key) + " = 'worker'"),
                    AllOf(StartsWith("/etc/memscope.toml:3: " + std::string(key) + ": 'worker' is not a role"),
                          HasSubstr("dataloader_worker")));
}

TEST(ConfigRoles, UnknownKeysAndWrongTypes) {
    EXPECT_EQ(refused("[[role]]\nrole = 'helper'\nforked-without-exec = true"),
              "/etc/memscope.toml:3: forked-without-exec: unknown key; did you mean forked_without_exec?");
    EXPECT_THAT(refused("[[role]]\nrole = 'helper'\ncomm = 5"), StartsWith("/etc/memscope.toml:3: comm: is a number"));
    EXPECT_THAT(refused("[[role]]\nrole = 5\ncomm = 'x'"), StartsWith("/etc/memscope.toml:2: role: is a number"));
    EXPECT_THAT(refused("[[role]]\nrole = 'helper'\nforked_without_exec = 'yes'"),
                HasSubstr(":3: forked_without_exec: is"));
    EXPECT_THAT(refused("[[role]]\nrole = 'helper'\ncomm = ''"), HasSubstr(":3: comm: is empty"));
    EXPECT_THAT(refused("[[role]]\nrole = 'helper'\nprogram = \"a\\u0000\""), HasSubstr(":3: program: contains a NUL"));
}

TEST(ConfigRoles, ARuleNeedsARoleAndACondition) {
    EXPECT_THAT(refused("wait = true\n[[role]]\ncomm = 'x'"), HasSubstr(":2: role: the rule has no role"));
    EXPECT_THAT(refused("[[role]]\nrole = 'helper'"), HasSubstr(":1: role: the rule would match every process"));
    EXPECT_THAT(refused("[[role]]"), HasSubstr("the rule has no role"));
}

TEST(ConfigRoles, OnlyTablesAreRules) {
    EXPECT_THAT(refused("[role]\nrole = 'helper'"), HasSubstr("[[role]]"));
    EXPECT_THAT(refused("role = 'helper'"), HasSubstr("[[role]]"));
    EXPECT_THAT(refused("role = [{role = 'helper', comm = 'x'}, 5]"), HasSubstr("[[role]]"));
}

}  // namespace config_roles_test
}  // namespace memscope

#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/role_rules.h"
#include "base/units.h"

namespace memscope {

// What to watch and how, as the command line and the config file say it.
struct WatchOptions {
    std::vector<std::string> cgroups{};  // names, paths, units, globs: as typed
    bool maps = true;                    // count mapped bytes
    bool wait = false;                   // for plain names that do not exist yet
    Seconds interval{1};
    std::optional<Seconds> duration{};
    std::optional<std::string> listen = "127.0.0.1:9750";  // none: no HTTP
    bool http_status = false;
    bool json = false;
    bool quiet = false;
    Seconds linger{60};
    std::optional<Seconds> status_every{};  // print the whole status now and then, not only what happens
    std::vector<RoleRule> role_rules{};     // come before the built-in ones
};

}  // namespace memscope

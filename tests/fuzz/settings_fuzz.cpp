// The config file and the command line: the input is the TOML text, and its lines are the words behind `memscope`.
#include "base/text.h"
#include "cli/arguments/config.h"
#include "cli/arguments/options.h"
#include "fuzz.h"
#include "outputs/http/listen.h"

namespace memscope::fuzz {
namespace {

void check(const WatchOptions& options) {
    require(options.interval.count() >= 0.05 && options.interval.count() <= 3600, "the interval is in its range");
    const std::optional<Seconds> linger = options.linger;
    require(!linger || (linger->count() >= 0 && linger->count() <= 86400), "--linger is in its range");
    require(!options.duration || options.duration->count() > 0, "--duration is not 0");
    for (const RoleRule& rule : options.role_rules)
        require(rule.comm.find('\0') == std::string::npos, "no NUL gets into a rule");
    if (options.listen) parsed(parse_listen(*options.listen));
}

}  // namespace

void one(std::string_view bytes) {
    WatchOptions options;
    if (parsed(apply_config(options, bytes, "/etc/memscope.toml"))) check(options);

    std::vector<std::string> words;
    for (const std::string_view word : split(bytes, '\n'))
        if (word.find('\0') == std::string_view::npos) words.emplace_back(word);  // no argument can contain NUL
    const auto read_config = [&](const std::string& path) -> Result<std::string> {
        if (path == kDefaultConfig) return system_error(ENOENT, "open " + path);
        return path;  // `--config TEXT`: the name is also the content of the config file
    };
    if (const auto command = parsed(parse_command(words, read_config)))
        if (const auto* watch = std::get_if<WatchOptions>(&*command)) {
            check(*watch);
            require(!watch->cgroups.empty() || watch->pid || !watch->command.empty(), "something is watched");
        }
    if (const auto address = parsed(parse_listen(bytes))) {
        const auto again = parse_listen(address->text());
        require(again && again->host == address->host && again->port == address->port,
                "an address reads back as itself", address->text());
    }
}

}  // namespace memscope::fuzz

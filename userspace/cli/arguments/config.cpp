#include "cli/arguments/config.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/arguments/command_line.h"
#include "outputs/http/host_check.h"

namespace memscope {
namespace {

// "90%", "2.5%": a share, so at most 100.
Result<double> parse_percentage(std::string_view text) {
    const Error error =
        plain_error(fmt::format("'{}' is not a percentage", shortened(text)), "write a percentage, as in 90%");
    if (!text.ends_with('%')) return error;
    const std::string_view number = text.substr(0, text.size() - 1);
    double percent = 0;
    const auto [end, code] =
        std::from_chars(number.data(), number.data() + number.size(), percent, std::chars_format::fixed);
    if (code != std::errc{} || end != number.data() + number.size()) return error;
    if (!(percent >= 0 && percent <= 100)) return error;
    return percent / 100;
}

template <auto member>
Status set_share(PrecursorSettings& settings, std::string_view value) {
    const auto share = parse_percentage(value);
    if (!share) return share.error();
    settings.*member = *share;
    return Done{};
}

template <auto member>
Status set_time(PrecursorSettings& settings, std::string_view value) {
    const auto time = parse_duration(value);
    if (!time) return time.error();
    constexpr Seconds kLeast = std::chrono::milliseconds(100), kMost = std::chrono::hours(24);
    if (*time < kLeast || *time > kMost)
        return plain_error(fmt::format("'{}' is out of range", shortened(value)), "from 100ms to 24h");
    settings.*member = *time;
    return Done{};
}

Status set_least(PrecursorSettings& settings, std::string_view value) {
    const auto size = parse_size(value);
    if (!size) return size.error();
    settings.host_low_least = *size;
    return Done{};
}

using Settings = PrecursorSettings;
constexpr PrecursorKey kKeys[] = {
    {"eta", "10m", set_time<&Settings::eta>},
    {"eta_warmup", "2m", set_time<&Settings::eta_warmup>},
    {"eta_warmup_held", "80%", set_share<&Settings::eta_warmup_held>},
    {"near_limit", "90%", set_share<&Settings::near_limit>},
    {"near_limit_for", "30s", set_time<&Settings::near_limit_for>},
    {"pressure", "10%", set_share<&Settings::pressure>},
    {"reclaim", "5%", set_share<&Settings::reclaim>},
    {"reclaim_window", "60s", set_time<&Settings::reclaim_window>},
    {"refault", "1%", set_share<&Settings::refault>},
    {"refault_for", "60s", set_time<&Settings::refault_for>},
    {"high_throttled", "30s", set_time<&Settings::high_throttled>},
    {"shm_full", "90%", set_share<&Settings::shm_full>},
    {"host_low", "2%", set_share<&Settings::host_low>},
    {"host_low_least", "1G", set_least},
    {"clear_after", "60s", set_time<&Settings::clear_after>},
};

}  // namespace

std::span<const PrecursorKey> precursor_keys() { return kKeys; }

namespace {

using Kind = WatchSetting::Kind;

Result<Seconds> duration_within(std::string_view text, std::string_view least, std::string_view most) {
    const auto value = parse_duration(text);
    if (!value) return value.error();
    if (*value < *parse_duration(least) || *value > *parse_duration(most))
        return plain_error(fmt::format("'{}' is out of range", shortened(text)),
                           fmt::format("from {} to {}", least, most));
    return *value;
}

Status set_flag(bool& flag, std::string_view value) {
    if (value != "true" && value != "false")
        return plain_error(fmt::format("'{}' is neither true nor false", shortened(value)));
    flag = value == "true";
    return Done{};
}

// For settings that are on by default: "true" switches them off.
Status clear_flag(bool& on, std::string_view value) {
    bool off = false;
    auto set = set_flag(off, value);
    if (set) on = !off;
    return set;
}

Status add_cgroup(WatchOptions& options, std::string_view value) {
    if (value.empty()) return plain_error("the name is empty", "name a cgroup, for example train");
    options.cgroups.emplace_back(value);
    return Done{};
}

Status set_interval(WatchOptions& options, std::string_view value) {
    const auto interval = duration_within(value, "50ms", "1h");
    if (!interval) return interval.error();
    options.interval = *interval;
    return Done{};
}

Status set_growth_budget(WatchOptions& options, std::string_view value) {
    std::string_view number = value;
    if (number.ends_with('%')) number.remove_suffix(1);
    const auto percent = parse_number(number);
    if (!percent || *percent == 0 || *percent > 100)
        return plain_error(fmt::format("'{}' is not a percentage", shortened(value)),
                           "write a whole percentage from 1% to 100%");
    options.growth_budget = static_cast<double>(*percent) / 100;
    return Done{};
}

Status set_duration(WatchOptions& options, std::string_view value) {
    const auto duration = duration_within(value, "1ms", "87600h");  // ten years, so that no clock arithmetic overflows
    if (!duration) return duration.error();
    options.duration = *duration;
    return Done{};
}

Status set_linger(WatchOptions& options, std::string_view value) {
    const auto linger = duration_within(value == "0" ? "0s" : value, "0s", "24h");  // zero needs no unit
    if (!linger) return linger.error();
    options.linger = *linger;
    return Done{};
}

// Checks the syntax only. bind() finds out whether the machine has the address.
Status set_listen(WatchOptions& options, std::string_view value) {
    options.listen_chosen = true;
    options.listen.reset();
    if (value == "none") return Done{};
    const auto colon = value.rfind(':');
    const std::string_view host = value.substr(0, colon);
    const auto port = colon == std::string_view::npos ? std::nullopt : parse_number(value.substr(colon + 1));
    const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
    const bool bare = !host.empty() && host.find_first_of("[]:/ \t\n") == std::string_view::npos;
    if (!port || *port > 65535 || (!bracketed && !bare))
        return plain_error(fmt::format("'{}' is not an address", shortened(value)),
                           "write HOST:PORT as in 127.0.0.1:9750 or [::1]:9750, or none");
    options.listen = value;
    return Done{};
}

Status add_http_host(WatchOptions& options, std::string_view value) {
    auto name = parse_host_name(value);
    if (!name) return name.error();
    options.http_hosts.push_back(*std::move(name));
    return Done{};
}

Status set_report_dir(WatchOptions& options, std::string_view value) {
    if (value.empty()) return plain_error("the name is empty", "name a directory, or none");
    options.report_dir = value == "none" ? "" : value;
    return Done{};
}

Status set_record(WatchOptions& options, std::string_view value) {
    if (value.empty())
        return plain_error("the name is empty", "name a directory or a file that ends in .memscope, or none");
    options.record = value == "none" ? "" : value;
    return Done{};
}

Status set_record_max(WatchOptions& options, std::string_view value) {
    const auto size = parse_size(value);
    if (!size) return size.error();
    constexpr Bytes kLeast{std::uint64_t{1} << 20U};
    if (*size < kLeast) return plain_error(fmt::format("'{}' is too small", shortened(value)), "at least 1M");
    options.record_max = *size;
    return Done{};
}

Status set_warmup(WatchOptions& options, std::string_view value) {
    const auto warmup = parse_warmup(value);
    if (!warmup) return warmup.error();
    options.warmup = *warmup;
    return Done{};
}

Status set_fail_on(WatchOptions& options, std::string_view value) {
    constexpr std::string_view kSuspected = "suspected";
    bool suspected = false;
    std::string rest;
    for (const std::string_view each : split(value, ',')) {
        const bool is_suspected = trimmed(each) == kSuspected;
        suspected = suspected || is_suspected;
        if (!is_suspected) rest += (rest.empty() ? "" : ",") + std::string(each);
    }
    std::vector<Verdict> verdicts;
    if (!rest.empty() || !suspected) {
        auto named = verdicts_of(rest.empty() ? value : rest);
        if (!named) return named.error();
        verdicts = *std::move(named);
    }
    options.fail_on = std::move(verdicts);
    options.fail_on_suspected = suspected;
    return Done{};
}

Status set_command(std::vector<std::string>& command, std::string_view value) {
    auto words = split_words(value);
    if (!words) return words.error();
    command = *std::move(words);
    return Done{};
}

Status set_on_timeout(WatchOptions& options, std::string_view value) {
    const auto timeout = duration_within(value, "100ms", "1h");
    if (!timeout) return timeout.error();
    options.on_timeout = *timeout;
    return Done{};
}

constexpr WatchSetting kSettings[] = {
    {"cgroup", Kind::list, "[\"train\"]", add_cgroup, [](WatchOptions& o) { o.cgroups.clear(); }},
    {"no-maps", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return clear_flag(o.maps, v); }},
    {"no-growth", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return clear_flag(o.growth, v); }},
    {"no-python", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return clear_flag(o.python, v); }},
    {"no-gpu", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return clear_flag(o.gpu, v); }},
    {"torch", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return set_flag(o.torch, v); }},
    {"growth-budget", Kind::text, "\"1%\"", set_growth_budget},
    {"warmup", Kind::text, "\"20m\"", set_warmup},
    {"fail-on", Kind::text, "\"leaking\"", set_fail_on},
    {"wait", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return set_flag(o.wait, v); }},
    {"interval", Kind::text, "\"1s\"", set_interval},
    {"duration", Kind::text, "\"10m\"", set_duration},
    {"listen", Kind::text, "\"127.0.0.1:9750\"", set_listen},
    {"http-status", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return set_flag(o.http_status, v); }},
    {"http-host", Kind::list, "[\"node7.cluster.example\"]", add_http_host,
     [](WatchOptions& o) { o.http_hosts.clear(); }},
    {"linger", Kind::text, "\"60s\"", set_linger},
    {"report-dir", Kind::text, "\"/var/lib/memscope\"", set_report_dir},
    {"record", Kind::text, "\"/var/lib/memscope/recordings\"", set_record},
    {"record-max", Kind::text, "\"512M\"", set_record_max},
    {"on-precursor", Kind::text, "\"/usr/local/bin/save-checkpoint\"",
     [](WatchOptions& o, std::string_view v) { return set_command(o.on_precursor, v); }},
    {"on-death", Kind::text, "\"/usr/local/bin/notify-team\"",
     [](WatchOptions& o, std::string_view v) { return set_command(o.on_death, v); }},
    {"on-timeout", Kind::text, "\"30s\"", set_on_timeout},
    {"json", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return set_flag(o.json, v); }},
    {"quiet", Kind::flag, "true", [](WatchOptions& o, std::string_view v) { return set_flag(o.quiet, v); }},
};

std::string_view kind_of(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::string:
            return "a string";
        case toml::node_type::integer:
        case toml::node_type::floating_point:
            return "a number";
        case toml::node_type::boolean:
            return "true or false";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::table:
            return "a table";
        default:
            return "a date or time";
    }
}

Error wrong_kind(const toml::node& node, std::string_view wanted, std::string_view key, std::string_view example) {
    return plain_error(fmt::format("is {}, not {}", kind_of(node), wanted), fmt::format("write {} = {}", key, example));
}

// A string without NUL characters, because the kernel and fnmatch() would stop there.
Result<std::string> text_of(const toml::node& node, std::string_view key, std::string_view example) {
    const auto* text = node.as_string();
    if (!text) return wrong_kind(node, "a string", key, example);
    if (text->get().find('\0') != std::string::npos) return plain_error("contains a NUL character", "remove it");
    return text->get();
}

Status apply_setting(WatchOptions& options, const WatchSetting& setting, const toml::node& node) {
    if (setting.kind == Kind::flag) {
        if (!node.is_boolean()) return wrong_kind(node, "true or false", setting.name, setting.example);
        return setting.set(options, node.as_boolean()->get() ? "true" : "false");
    }
    const auto apply_one = [&](const toml::node& one) -> Status {
        const auto text = text_of(one, setting.name, setting.example);
        return text ? setting.set(options, *text) : Status(text.error());
    };
    if (setting.kind == Kind::text || !node.is_array()) return apply_one(node);
    for (const toml::node& one : *node.as_array())
        if (auto applied = apply_one(one); !applied) return applied;
    return Done{};
}

Result<Role> role_of(const toml::node& node, std::string_view key) {
    const auto text = text_of(node, key, "\"helper\"");
    if (!text) return text.error();
    if (const auto role = role_named(*text)) return *role;
    std::vector<std::string_view> names;
    for (const Role role : kRoles) names.push_back(name_of(role));
    return plain_error(fmt::format("'{}' is not a role", shortened(*text)),
                       fmt::format("one of {}", fmt::join(names, ", ")));
}

Status apply_role_key(RoleRule& rule, std::string_view key, const toml::node& node) {
    if (key == "role" || key == "parent") {
        const auto role = role_of(node, key);
        if (!role) return role.error();
        if (key == "role") rule.role = *role;
        if (key == "parent") rule.parent = *role;
        return Done{};
    }
    if (key == "forked_without_exec") {
        if (!node.is_boolean()) return wrong_kind(node, "true or false", key, "true");
        rule.forked_without_exec = node.as_boolean()->get();
        return Done{};
    }
    const auto text = text_of(node, key, "\"name*\"");
    if (!text) return text.error();
    if (text->empty()) return plain_error("is empty", "remove the key to match any value");
    (key == "comm" ? rule.comm : key == "program" ? rule.program : rule.argument) = *text;
    return Done{};
}

std::string at(const std::string& file, const toml::node& node, std::string_view key) {
    return fmt::format("{}:{}: {}", file, node.source().begin.line, shortened(key));
}

Error unknown_key(const std::string& where, std::string_view key, std::span<const std::string> known) {
    return plain_error(where + ": unknown key",
                       did_you_mean(key, known, fmt::format("known: {}", fmt::join(known, ", "))));
}

Status apply_roles(WatchOptions& options, const toml::node& node, const std::string& file) {
    static const std::vector<std::string> keys{"role", "comm", "program", "argument", "parent", "forked_without_exec"};
    const auto* tables = node.as_array();
    if (!tables || !std::ranges::all_of(*tables, [](const toml::node& each) { return each.is_table(); }))
        return plain_error(at(file, node, "role") + ": is not a list of tables", "begin each rule with [[role]]");
    for (const toml::node& each : *tables) {
        const toml::table& table = *each.as_table();
        RoleRule rule;
        for (const auto& [key, value] : table) {
            const auto where = at(file, value, key.str());
            if (std::ranges::find(keys, key.str()) == keys.end()) return unknown_key(where, key.str(), keys);
            if (auto applied = apply_role_key(rule, key.str(), value); !applied) return about(where, applied.error());
        }
        if (!table.contains("role"))
            return plain_error(at(file, each, "role") + ": the rule has no role",
                               "add a role, as in role = \"helper\"");
        if (table.size() < 2)
            return plain_error(at(file, each, "role") + ": the rule would match every process",
                               "add a condition: comm, program, argument, parent or forked_without_exec");
        options.role_rules.push_back(std::move(rule));
    }
    return Done{};
}

Status apply_precursors(PrecursorSettings& settings, const toml::node& node, const std::string& file) {
    const auto* table = node.as_table();
    if (!table)
        return plain_error(at(file, node, "precursors") + ": is not a table", "begin the table with [precursors]");
    const auto keys = precursor_keys();
    for (const auto& [key, value] : *table) {
        const auto where = at(file, value, key.str());
        const auto known = std::ranges::find(keys, key.str(), &PrecursorKey::name);
        if (known == keys.end()) {
            std::vector<std::string> names;
            for (const PrecursorKey& each : keys) names.emplace_back(each.name);
            return unknown_key(where, key.str(), names);
        }
        const auto text = text_of(value, known->name, fmt::format("\"{}\"", known->example));
        const Status applied = text ? known->set(settings, *text) : Status(text.error());
        if (!applied) return about(where, applied.error());
    }
    return Done{};
}

}  // namespace

Result<Seconds> parse_warmup(std::string_view value) { return duration_within(value, "1s", "168h"); }

Result<std::vector<Verdict>> verdicts_of(std::string_view list) {
    std::vector<std::string> known;
    for (const Verdict verdict : kVerdicts) known.emplace_back(word(verdict));
    std::vector<Verdict> verdicts;
    for (const std::string_view each : split(list, ',')) {
        const auto verdict = verdict_of(trimmed(each));
        if (!verdict)
            return plain_error(fmt::format("'{}' is not a verdict", shortened(each)),
                               did_you_mean(each, known, fmt::format("the verdicts are: {}", fmt::join(known, ", "))));
        verdicts.push_back(*verdict);
    }
    return verdicts;
}

std::span<const WatchSetting> watch_settings() { return kSettings; }

Status apply_config(WatchOptions& options, std::string_view toml, const std::string& file) {
    constexpr std::size_t kMost = 32U << 10U;  // bounds nesting: tens of thousands of levels are too deep for toml++
    if (toml.size() >= kMost)
        return plain_error(fmt::format("{}: is too large", file), "a config file is smaller than 32 KiB");
    toml::table table;
    try {
        table = toml::parse(toml);
    } catch (const toml::parse_error& error) {
        return plain_error(fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()),
                           "the file must be TOML");
    }
    for (const auto& [key, value] : table) {
        if (key == "role") {
            if (auto applied = apply_roles(options, value, file); !applied) return applied;
            continue;
        }
        if (key == "precursors") {
            if (auto applied = apply_precursors(options.precursors, value, file); !applied) return applied;
            continue;
        }
        const auto where = at(file, value, key.str());
        const auto setting = std::ranges::find(kSettings, key.str(), &WatchSetting::name);
        if (setting == std::end(kSettings)) {
            std::vector<std::string> known{"role", "precursors"};
            for (const WatchSetting& each : kSettings) known.emplace_back(each.name);
            return unknown_key(where, key.str(), known);
        }
        if (auto applied = apply_setting(options, *setting, value); !applied) return about(where, applied.error());
    }
    return Done{};
}

}  // namespace memscope

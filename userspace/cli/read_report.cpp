#include "cli/read_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/json_fields.h"
#include "cli/read_tick.h"
#include "model/growth/mappings.h"
#include "outputs/deaths/death_report_json.h"

namespace memscope {
namespace {

constexpr std::size_t kMost = 1000;
constexpr int kDeepest = 12;

// Nothing deeper than a report is: what lies below is left out.
nlohmann::json parse_json(std::string_view text) {
    const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth <= kDeepest; };
    return nlohmann::json::parse(text, shallow, false);
}

std::optional<FullFile> read_file_part(const JsonFields& fields, const char* name) {
    if (!fields.has(name)) return std::nullopt;
    const JsonFields file = fields.object(name);
    return FullFile{file.text("file"), file.text("file_system"), file.text("mount")};
}

std::optional<NamedProcess> read_named(const JsonFields& fields, const char* pid, const char* comm) {
    const auto number = fields.small(pid);
    return number ? std::optional(NamedProcess{*number, fields.text(comm)}) : std::nullopt;
}

OomKill read_oom(const JsonFields& fields) {
    const auto constraint =
        fields.word("constraint", kOomConstraints, [](OomConstraint each) { return name_of(each); });
    return {.constraint = constraint.value_or(OomConstraint::unknown),
            .limit_owner = fields.text("limit_owner"),
            .limit = fields.bytes("limit_bytes"),
            .usage = fields.bytes("usage_bytes"),
            .victim_cgroup = fields.text("cgroup"),
            .trigger = read_named(fields, "triggered_by_pid", "triggered_by_comm"),
            .whole_cgroup = fields.flag("oom_group_kill", false)};
}

// The words are ours, so that they outlive the text.
std::string_view known_word(const std::string& given, std::size_t count, std::string_view (*word)(std::size_t)) {
    for (std::size_t i = 0; i < count; ++i)
        if (word(i) == given) return word(i);
    return {};
}

FailedAllocation read_allocation(const JsonFields& fields) {
    return {.call = known_word(fields.text("call"), MS_FAILED_COUNT, failed_call),
            .reason = known_word(fields.text("reason"), MS_REASON_COUNT, failure_reason),
            .size = fields.bytes("size_bytes"),
            .before_exit = fields.seconds("seconds_before_exit").value_or(Seconds{}),
            .file = read_file_part(fields, "file")};
}

GpuShortage read_gpu(const JsonFields& fields) {
    constexpr std::size_t kMostHolders = 64;
    GpuShortage shortage{.gpu = fields.text("id"),
                         .size = fields.bytes("size_bytes").value_or(Bytes{}),
                         .of_host = fields.flag("pinned_host_memory", false),
                         .before_exit = fields.seconds("seconds_before_exit").value_or(Seconds{}),
                         .free = fields.bytes("free_bytes"),
                         .total = fields.bytes("total_bytes"),
                         .read_after = fields.seconds("read_seconds_after_failure"),
                         .reserved = fields.bytes("reserved_bytes")};
    if (const auto index = fields.small("index"); index && *index >= 0) shortage.index = static_cast<unsigned>(*index);
    fields.each("holders", kMostHolders, [&](const JsonFields& each) {
        shortage.holders.push_back({{each.small("pid").value_or(0), each.text("comm")}, each.bytes("used_bytes")});
    });
    return shortage;
}

std::optional<Death> read_death(const JsonFields& fields) {
    const auto cause = fields.word("cause", kDeathCauses, [](DeathCause each) { return name_of(each); });
    if (!cause) return std::nullopt;
    Death death{.time = fields.time("time"),
                .id = {fields.small("pid").value_or(0), 0},
                .parent = fields.small("parent_pid").value_or(0),
                .comm = fields.text("comm"),
                .command = std::make_shared<const std::string>(fields.text("command")),
                .role = read_role(fields),
                .cause = *cause,
                .signal = fields.small("signal"),
                .exit_status = fields.small("exit_status"),
                .sent_by = read_named(fields, "sender_pid", "sender_comm"),
                .sent_for = fields.text("sent_for"),
                .news = fields.flag("news", true),
                .rss_anon = fields.bytes("rss_anon_bytes")};
    const auto sender = fields.word("sender", kDeathSenders, [](DeathSender each) { return name_of(each); });
    death.sender = sender.value_or(DeathSender::none);
    if (*cause == DeathCause::oom_kill) death.oom = read_oom(fields);
    death.mapping = read_file_part(fields, "mapping");
    if (fields.has("allocation")) death.allocation = read_allocation(fields.object("allocation"));
    if (fields.has("gpu")) death.gpu = read_gpu(fields.object("gpu"));
    death.explanation = fields.text("explanation");
    return death;
}

Result<nlohmann::json> checked(std::string_view text) {
    nlohmann::json json = parse_json(text);
    if (json.is_discarded()) return plain_error("is no JSON, or was cut", "name a report that memscope has written");
    const JsonFields fields(json);
    if (fields.text("report") != "death" || !fields.has("version"))
        return plain_error("is no report of a death", "name a report that memscope has written");
    if (fields.small("version") != kDeathReportVersion)
        return plain_error(fmt::format("is a report of another version, not {}", kDeathReportVersion),
                           "read it with the memscope that wrote it");
    return json;
}

}  // namespace

Result<DeathReport> parse_report(std::string_view text) {
    const auto json = checked(text);
    if (!json) return json.error();
    const JsonFields fields(*json);
    DeathReport report{.deaths_left_out = fields.count("deaths_left_out"),
                       .unreported = fields.count("unreported"),
                       .then = read_tick(fields.object("then")),
                       .processes_left_out = fields.count("processes_left_out"),
                       .left_out_resident = fields.bytes("left_out_resident_bytes").value_or(Bytes{})};
    fields.each("deaths", kMost, [&](const JsonFields& each) {
        if (auto death = read_death(each)) report.deaths.push_back(*std::move(death));
    });
    if (report.deaths.empty()) return plain_error("tells of no death", "name a report that memscope has written");
    if (fields.has("growth")) report.growth = read_growth(fields.object("growth"));
    fields.each("series", kMost, [&](const JsonFields& each) {
        report.series.push_back({each.time("time"), each.bytes("held_bytes").value_or(Bytes{}),
                                 each.bytes("usage_bytes").value_or(Bytes{})});
    });
    fields.each("events", kMost, [&](const JsonFields& each) {
        report.events.push_back({each.time("time"), printable(each.text("kind")), printable(each.text("text"))});
    });
    fields.each("advice", kMost, [&](const JsonFields& each) {
        if (each.value().is_string())
            report.advice.push_back(printable(each.value().get<std::string>().substr(0, 2000)));
    });
    return report;
}

Result<std::string> report_as_json(std::string_view text) {
    const auto json = checked(text);
    if (!json) return json.error();
    return json->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace memscope

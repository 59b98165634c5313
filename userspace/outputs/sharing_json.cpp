#include "outputs/sharing_json.h"

namespace memscope {
namespace {

void write_role(JsonWriter& json, const RoleKey& key) {
    json.field("role", name_of(key.role));
    json.field("rank", key.rank);
}

}  // namespace

void write_sharing(JsonWriter& json, const Sharing& sharing) {
    json.object("sharing", [&] {
        json.field("summed_rss_anon_bytes", sharing.summed_anon);
        json.field("cgroup_anon_bytes", sharing.cgroup_anon);
        json.list("unshared", [&] {
            for (const auto& [key, unshared] : sharing.unshared)
                json.object([&] {
                    write_role(json, key);
                    json.field("bytes", unshared.bytes);
                    json.field("confirmed", unshared.confirmed);
                    json.field("processes", unshared.processes);
                });
        });
        json.list("pss", [&] {
            for (const auto& [key, pss] : sharing.pss)
                json.object([&] {
                    write_role(json, key);
                    json.field("bytes", pss.bytes);
                    json.field("age_seconds", pss.age);
                    json.field("processes", pss.processes);
                });
        });
        json.field("explanation",
                   sharing.explanation.empty() ? std::nullopt : std::optional<std::string>(sharing.explanation));
    });
}

}  // namespace memscope

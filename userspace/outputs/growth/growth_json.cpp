#include "outputs/growth/growth_json.h"

#include "outputs/json/json_writer.h"

namespace memscope {
namespace {

struct NamedPlane {
    const char* name;
    const GrowthPlane& plane;
    ShownSites shown;
};

void write_frame(JsonWriter& json, const PythonFrame& frame) {
    json.field("function", frame.function);
    json.field("file", frame.file);
    json.field("line", frame.line > 0 ? std::optional(frame.line) : std::nullopt);
}

void write_frame(JsonWriter& json, const NativeFrame& frame) {
    const auto known = [](const std::string& name) { return name.empty() ? std::nullopt : std::optional(name); };
    json.field("symbol", known(frame.symbol));
    json.field("module", known(frame.module));
    json.field("offset", frame.offset);
}

void write_site(JsonWriter& json, const GrowthSite& site) {
    json.field("bytes", site.bytes);
    json.field("role", name_of(site.role.role));
    json.field("rank", site.role.rank);
    json.list("pids", [&] {
        for (const pid_t pid : site.pids) json.value(pid);
    });
    json.list("python", [&] {
        for (const PythonFrame& frame : site.python) json.object([&] { write_frame(json, frame); });
    });
    json.list("native", [&] {
        for (const NativeFrame& frame : site.native) json.object([&] { write_frame(json, frame); });
    });
}

void write_owner(JsonWriter& json, const std::optional<GrowthOwner>& owner) {
    if (!owner) {
        json.field("owner", nullptr);
        return;
    }
    json.object("owner", [&] {
        json.field("plane", name_of(owner->plane));
        json.field("line", owner->place);
        json.field("bytes", owner->bytes);
        json.field("share", owner->share);
        json.field("role", name_of(owner->role.role));
        json.field("rank", owner->role.rank);
    });
}

}  // namespace

std::string growth_json(const GrowthReport& report) {
    const Growth& growth = report.growth;
    const NamedPlane planes[] = {
        {"resident", growth.resident, shown_sites(growth.resident, report.top)},
        {"mapped", growth.mapped, shown_sites(growth.mapped, report.top)},
        {"tensors_host", growth.tensors_host, shown_sites(growth.tensors_host, report.top)},
        {"gpu", growth.gpu, shown_sites(growth.gpu, report.top)},
        {"pinned", growth.pinned, shown_sites(growth.pinned, report.top)},
    };
    JsonWriter json;
    json.object([&] {
        json.field("time", growth.span.peak.value_or(report.time));
        json.field("since_seconds", growth.span.since);
        json.field("at", growth.span.peak ? "peak" : "now");
        json.field("sentence", growth.sentence);
        write_owner(json, growth.owner);
        json.field("resident_method", name_of(growth.resident_method));
        json.field("resident_checked_seconds_ago", growth.pages_checked);
        json.object("target", [&] {
            json.field("name", report.target.name);
            json.field("kind", report.target.kind);
            json.field("cgroup_version", report.target.cgroup_version);
            if (report.target.pid) json.field("pid", *report.target.pid);
        });
        for (const NamedPlane& plane : planes)
            json.list(plane.name, [&] {
                for (const GrowthSite& site : plane.shown.sites) json.object([&] { write_site(json, site); });
            });
        json.object("left_out", [&] {
            for (const NamedPlane& plane : planes)
                json.object(plane.name, [&] {
                    json.field("sites", plane.shown.left_out);
                    json.field("bytes", plane.shown.left_out_bytes);
                });
        });
        json.list("unattributed", [&] {
            for (const NamedPlane& plane : planes)
                for (const UnattributedGrowth& part : plane.plane.unattributed)
                    json.object([&] {
                        json.field("plane", plane.name);
                        json.field("reason", part.reason);
                        json.field("bytes", part.bytes);
                    });
        });
        json.object("apart", [&] {
            json.field("file_mapped_bytes", growth.file_mapped_bytes);
            json.field("reserved_bytes", growth.reserved_bytes);
        });
        json.object("host_tensors", [&] {
            json.field("since", growth.host_tensors.since_seconds);
            json.field("paused_storages_per_second", growth.host_tensors.paused_at_rate);
        });
    });
    return json.text();
}

}  // namespace memscope

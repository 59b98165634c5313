#include "growth_example.h"

namespace memscope::test {
namespace {

constexpr const char* kTorch = "/opt/venv/lib/python3.11/site-packages/torch/";

GrowthSite losses() {
    return {.bytes = 900 * kMiB,
            .role = {Role::trainer, 0},
            .pids = {101},
            .python = {{"History.append", "/home/ada/job/history.py", 41},
                       {"train_step", "/home/ada/job/train.py", 118},
                       {"main", "/home/ada/job/train.py", 203},
                       {"<module>", "/home/ada/job/train.py", 240}},
            .native = {{"__memset_generic", "/usr/lib/libc.so.6", 0x98f00},
                       {"PyObject_Malloc", "/usr/bin/python3.11", 0x1234},
                       {"_PyEval_EvalFrameDefault", "/usr/bin/python3.11", 0x5678},
                       {"Py_RunMain", "/usr/bin/python3.11", 0x9abc}}};
}

GrowthSite workers() {
    return {.bytes = 300 * kMiB,
            .role = {Role::dataloader_worker, 0},
            .pids = {110, 111, 112},
            .python = {{"stack", std::string(kTorch) + "functional.py", 77},
                       {"default_collate", std::string(kTorch) + "utils/data/_utils/collate.py", 398},
                       {"Images.__getitem__", "/home/ada/job/data.py", 66},
                       {"_worker_loop", std::string(kTorch) + "utils/data/_utils/worker.py", 308},
                       {"<module>", "/home/ada/job/train.py", 240}},
            .native = {{"", "/usr/lib/libjpeg.so.62", 0x2000}, {"", "", 0}}};
}

GrowthSite native_only() {
    return {.bytes = 40 * kMiB,
            .role = {Role::other, {}},
            .pids = {120},
            .native = {{"std::vector<float>::resize", "/opt/bin/server", 0x4242}, {"", "[vdso]", 0x10}}};
}

}  // namespace

GrowthReport grown() {
    GrowthReport report{.time = 1760000000.5, .target = {.name = "train"}};
    GrowthSite given_back{.bytes = -8 * kMiB,
                          .role = {Role::trainer, 0},
                          .pids = {101},
                          .python = {{"free", "/home/ada/job/train.py", 9}, {"<module>", "/home/ada/job/train.py", 0}}};
    report.growth.resident.sites = {losses(), workers(), native_only(), given_back};
    report.growth.resident.unattributed = {{"external", -3 * kMiB}, {"other", 12 * kMiB}};
    GrowthSite buffers = losses();
    buffers.bytes = 2048 * kMiB;
    report.growth.mapped.sites = {buffers};
    report.growth.mapped.unattributed = {{"exited", 5 * kMiB}};
    report.growth.file_mapped_bytes = 700 * kMiB;
    report.growth.reserved_bytes = std::int64_t{13} << 30U;
    return report;
}

GrowthReport hostile_growth() {
    GrowthReport report{.time = 1, .target = {.name = "a\n\x1b[31mb\xff"}};
    report.growth.resident.sites = {
        {.bytes = 4096,
         .role = {Role::other, -7},
         .pids = {1},
         .python = {{"f;g\n7 99\x1b[2J", "/tmp/\xff\xfe;\r\n.py", 3}, {std::string(100'000, 'x'), "", -5}, {"", "", 0}},
         .native = {{"a;b\x7f\xe2\x80\xae", "/lib/\n", ~std::uint64_t{0}}, {"", "", 0}}},
        {.bytes = INT64_MIN},
    };
    report.growth.resident.unattributed = {{"why\n;\x1b]0;title\x07", INT64_MAX}, {"", INT64_MAX}};
    report.growth.mapped.sites = {{.bytes = INT64_MAX}, {.bytes = INT64_MAX, .pids = std::vector<pid_t>(1000, 1)}};
    report.growth.file_mapped_bytes = INT64_MIN;
    return report;
}

GrowthReport many_sites(int count) {
    GrowthReport report{.time = 1760000000.5, .target = {.name = "train"}};
    for (int i = 0; i < count; ++i)
        report.growth.resident.sites.push_back(
            {.bytes = (count - i) * std::int64_t{4096},
             .role = {Role::trainer, {}},
             .pids = {i + 1},
             .python = {{"leaf", "/job/leaf.py", i + 1}, {"main", "/job/main.py", 7}},
             .native = {{"malloc", "/lib/libc.so.6", 0x100}}});
    return report;
}

}  // namespace memscope::test

#include "cli/series/series_input.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "support/fake_tree.h"

namespace memscope {
namespace series_input_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

using Samples = std::vector<std::pair<double, std::uint64_t>>;

Result<Samples> parse(std::string_view text, const SeriesChoice& choice = {}) {
    Samples samples;
    SeriesInput input(choice, [&](Seconds time, Bytes bytes) { samples.emplace_back(time.count(), bytes.n); });
    Status status = Done{};
    for_each_line(text, [&](std::string_view line) {
        if (status) status = input.add_line(line);
    });
    if (status) status = input.finish();
    if (!status) return status.error();
    return samples;
}

Samples read(std::string_view text, const SeriesChoice& choice = {}) {
    const auto samples = parse(text, choice);
    if (samples) return *samples;
    ADD_FAILURE() << samples.error().message();
    return {};
}

std::string refusal(std::string_view text, const SeriesChoice& choice = {}) {
    const auto samples = parse(text, choice);
    EXPECT_FALSE(samples) << text;
    return samples ? "" : samples.error().message();
}

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

TEST(SeriesInput, ReadsTheCsvOfMemscope) {
    EXPECT_THAT(read("t_seconds,bytes\n0,100\n1.5,200\n"), ElementsAre(Pair(0, 100), Pair(1.5, 200)));
    EXPECT_THAT(read("\xEF\xBB\xBF# a remark\n\nt_seconds,bytes,note\n0,100,x\n"), ElementsAre(Pair(0, 100)));
    EXPECT_THAT(refusal("# a remark\nt_seconds,bytes\n0,100\nx,1\n"), HasSubstr("line 4"));
}

TEST(SeriesInput, RecognizesColumnsByTheirNames) {
    EXPECT_THAT(read("step,timestamp,rss_kb\n1,10,2\n2,11,3\n"), ElementsAre(Pair(10, 2 * kKiB), Pair(11, 3 * kKiB)));
    EXPECT_THAT(read("time;used (MiB)\n2026-11-15 03:40:00;1.5\n2026-11-15 03:40:05;2\n").back().second, 2 * kMiB);
    EXPECT_THAT(read("\"time\",\"memory, all (GB)\"\n1,\"2\"\n"), ElementsAre(Pair(1, 2 * kGiB)));
}

TEST(SeriesInput, TheUserNamesColumnsThatAreNotRecognized) {
    EXPECT_THAT(read("a\tb\n1\t2\n", {.time = "a", .value = "b", .unit = "MB"}), ElementsAre(Pair(1, 2 * kMiB)));
    EXPECT_THAT(read("t_seconds,bytes,rss_kb\n1,5,2\n", {.value = "rss_kb"}), ElementsAre(Pair(1, 2 * kKiB)));
    EXPECT_THAT(read("time,rss\n1,2 MiB\n"  // the cells have units
                     ,
                     {.value = "rss"}),
                ElementsAre(Pair(1, 2 * kMiB)));
    EXPECT_THAT(refusal("time,rss\n1,2\n", {.value = "rss"}), AllOf(HasSubstr("line 2"), HasSubstr("--unit kB")));
    EXPECT_THAT(refusal("when,rss_kb\n1,2\n"), AllOf(HasSubstr("the times"), HasSubstr("--time"), HasSubstr("when")));
    EXPECT_THAT(refusal("time,rss_kb,vms_kb\n1,2,3\n"), AllOf(HasSubstr("several"), HasSubstr("--value")));
    EXPECT_THAT(refusal("time,rss\n1,2\n"), HasSubstr("--value"));
    EXPECT_THAT(refusal("time,rss_kb\n1,2\n", {.value = "uss_kb"}), HasSubstr("no columns are called 'uss_kb'"));
    EXPECT_THAT(refusal("time,rss_kb\n1,2\n", {.gpu = "0"}), HasSubstr("--gpu does not apply"));
}

TEST(SeriesInput, ErrorsOfRowsHaveTheirLines) {
    EXPECT_THAT(refusal("time,rss_kb\n1,2\n3\n"), HasSubstr("line 3"));
    EXPECT_THAT(refusal("time,rss_kb\n1,2\n0,2\n"), AllOf(HasSubstr("line 3"), HasSubstr("before")));
    EXPECT_THAT(refusal("time,rss_kb\n1,-2\n"), HasSubstr("line 2"));
    EXPECT_THAT(refusal("time,rss_kb\n1,1e300\n"), HasSubstr("line 2"));
    EXPECT_THAT(refusal("time,rss_kb\nx,1\n"), HasSubstr("not a time"));
    EXPECT_THAT(refusal("time,rss_kb\n"), HasSubstr("no samples"));
    EXPECT_THAT(refusal(""), HasSubstr("is empty"));
    EXPECT_THAT(refusal("hello\n"), HasSubstr("memscope verdict --help"));
}

constexpr const char* kSar =
    "Linux 6.1.0-18-amd64 (node7) \t11/17/26 \t_x86_64_\t(8 CPU)\n"
    "\n"
    "23:59:58    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit  kbactive   kbinact   "
    "kbdirty\n"
    "23:59:59     17299544  22992564      1000      5.61     53196   5581996      7000      5.52   2520272   4339208   "
    " 181184\n"
    "00:00:00     17268776  22968152      2000      5.70     53236   5588020      8000      5.00   2520340   4217088   "
    " 182980\n"
    "\n"
    "00:00:01    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit  kbactive   kbinact   "
    "kbdirty\n"
    "00:00:01     17268776  22968152      3000      5.70     53236   5588020      9000      5.00   2520340   4217088   "
    " 182980\n"
    "Average:     17284160  22980358      2000      5.65     53216   5585008      8000      5.26   2520306   4278148   "
    " 182082\n";

TEST(SeriesInput, ReadsSarOverMidnight) {
    const auto samples = read(kSar);
    ASSERT_EQ(samples.size(), 3U);
    EXPECT_EQ(samples[1].first - samples[0].first, 1);
    EXPECT_EQ(samples[2].first - samples[1].first, 1);
    EXPECT_EQ(samples[2].second, 3000 * kKiB);
    EXPECT_EQ(read(kSar, {.value = "kbcommit"}).back().second, 9000 * kKiB);
    EXPECT_THAT(refusal(kSar, {.value = "kbswpused"}), AllOf(HasSubstr("line 3"), HasSubstr("kbcommit")));
    EXPECT_THAT(refusal(kSar, {.value = "%memused"}), HasSubstr("a share is not a size"));
    EXPECT_THAT(refusal(kSar, {.interval = Seconds(1)}), HasSubstr("--interval does not apply"));
}

TEST(SeriesInput, ReadsSarOfOtherLocales) {
    const char* const american =
        "Linux 6.1.0 (n) \t11/17/2026 \t_x86_64_\t(8 CPU)\n\n"
        "11:59:58 AM kbmemfree   kbavail kbmemused  %memused\n"
        "11:59:59 AM     17        22      1000      5.61\n"
        "12:00:01 PM     17        22      2000      5.61\n"
        "12:10:00 PM  LINUX RESTART\t(8 CPU)\n"
        "Average:        17        22      1500      5.61\n";
    const auto samples = read(american);
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(samples[1].first - samples[0].first, 2);
    const char* const french =
        "Linux 6.1.0 (n) \t17/11/2026 \t_x86_64_\t(8 CPU)\n\n"
        "15:00:00    kbmemfree kbmemused  %memused\n"
        "15:00:01           17      1000      5,61\n"
        "Moyenne :          17      1000      5,61\n";
    EXPECT_THAT(read(french), ElementsAre(Pair(54001, 1000 * kKiB)));
    const char* const german =
        "15:00:00    kbmemfree kbmemused  %memused\n"
        "15:00:01        16.0G      1.5G      7,3%\n"
        "Durchschn.:     16.0G      1.5G      7,3%\n";
    EXPECT_THAT(read(german), ElementsAre(Pair(54001, 3 * kGiB / 2)));
}

constexpr const char* kPidstat =
    "Linux 6.1.0-18-amd64 (node7) \t11/17/26 \t_x86_64_\t(8 CPU)\n"
    "\n"
    "16:10:25      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n"
    "16:10:26     1000      4711   6459.43      0.00  279188  256652   1.04  python3\n"
    "16:10:26     1000      4712     14.15      0.00    8504    5832   0.02  Web Content\n"
    "\n"
    "16:10:26      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n"
    "16:10:27     1000      4711   6459.43      0.00  279188  256653   1.04  python3\n"
    "\n"
    "Average:      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n"
    "Average:     1000      4711   6459.43      0.00  279188  256652   1.04  python3\n";

TEST(SeriesInput, ReadsPidstatOfOneProcess) {
    EXPECT_THAT(refusal(kPidstat),
                AllOf(HasSubstr("2 series"), HasSubstr("--value"), HasSubstr("'4711 python3', '4712 Web Content'")));
    for (const char* process : {"4711", "python3", "4711 python3"})
        EXPECT_THAT(read(kPidstat, {.value = process}),
                    ElementsAre(Pair(58226, 256652 * kKiB), Pair(58227, 256653 * kKiB)))
            << process;
    EXPECT_THAT(read(kPidstat, {.value = "Web"}), ElementsAre(Pair(58226, 5832 * kKiB)));
    EXPECT_THAT(refusal(kPidstat, {.value = "471"}), HasSubstr("'471' fits 2 series"));
    EXPECT_THAT(refusal(kPidstat, {.value = "java"}), HasSubstr("no series 'java'"));
}

TEST(SeriesInput, ReadsOtherFormsOfPidstat) {
    const char* const flat =
        "Linux 6.1.0 (n) \t11/17/26 \t_x86_64_\t(8 CPU)\n\n"
        "# Time        UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n"
        "04:10:29 PM    0         1     46.08      0.00   44620   18820   0.08  init\n"
        "04:10:30 PM    0         1     46.08      0.00   44620   18821   0.08  init\n";
    EXPECT_THAT(read(flat), ElementsAre(Pair(58229, 18820 * kKiB), Pair(58230, 18821 * kKiB)));
    const char* const threads =
        "16:10:30      UID      TGID       TID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n"
        "16:10:31        0         1         -    208.91      0.00   44584   18820   0.08  init\n"
        "16:10:31        0         -         1      0.00      0.00   44584   18820   0.08  |__init\n";
    EXPECT_THAT(read(threads), ElementsAre(Pair(58231, 18820 * kKiB)));
}

TEST(SeriesInput, FindsTheTableOfMemoryAmongOtherTables) {
    const char* const of_the_machine =
        "Linux 6.1.0 (n) \t11/17/26 \t_x86_64_\t(8 CPU)\n\n"
        "19:15:14        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
        "19:15:15        all     53.77     41.71      4.52      0.00      0.00      0.00\n\n"
        "19:15:14    kbmemfree   kbavail kbmemused  %memused\n"
        "19:15:15     12788444  23388472    850912      3.45\n\n"
        "19:15:14    kbswpfree kbswpused  %swpused\n"
        "19:15:15            0         0      0.00\n\n"
        "19:15:15        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
        "19:15:16        all     53.77     41.71      4.52      0.00      0.00      0.00\n\n"
        "19:15:15    kbmemfree   kbavail kbmemused  %memused\n"
        "19:15:16        12.2G     22.3G    831.0M      3.5%\n";
    EXPECT_THAT(read(of_the_machine), ElementsAre(Pair(69315, 850912 * kKiB), Pair(69316, 831 * kMiB)));
    const char* const of_a_process =
        "19:15:14      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
        "19:15:15        0     22715    1.00    0.00    0.00    1.00    1.00     0  python3\n\n"
        "19:15:14      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n"
        "19:15:15        0     22715    533.00      0.00   15700    9552   0.04  python3\n";
    EXPECT_THAT(read(of_a_process), ElementsAre(Pair(69315, 9552 * kKiB)));
    EXPECT_THAT(refusal("19:15:14 CPU %user\n19:15:15 all 53.77\n"), HasSubstr("no table of memory"));
}

TEST(SeriesInput, ReadsPidstatWithSecondsSince1970) {
    const char* const header = "UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n";
    for (const std::string first : {"1794942914 ", "# Time "})
        EXPECT_THAT(read(first + header +
                         "1794942915      0     22715    533.00      0.00   15700    9552   0.04  python3\n"
                         "1794942916      0     22715    533.00      0.00   15700    9553   0.04  python3\n"),
                    ElementsAre(Pair(1794942915, 9552 * kKiB), Pair(1794942916, 9553 * kKiB)));
    EXPECT_THAT(
        refusal(std::string("1794942914 ") + header + "1794942915 0 1 1 1 1 1 1 a\n1794842915 0 1 1 1 1 1 1 a\n"),
        HasSubstr("before"))
        << "no midnight lies between these";
}

TEST(SeriesInput, ErrorsOfSysstatHaveTheirLines) {
    EXPECT_THAT(refusal("15:00:00 kbmemfree kbmemused\n15:00:01 1 x\n"),
                AllOf(HasSubstr("line 2"), HasSubstr("not a size")));
    EXPECT_THAT(refusal("15:00:00 kbmemfree kbmemused\n15:00:01 1\n"), HasSubstr("fewer columns"));
    EXPECT_THAT(refusal("15:00:00 kbmemfree kbmemused\n15:00:05 1 1\n15:00:01 1 1\n"),
                AllOf(HasSubstr("line 3"), HasSubstr("before")));
    EXPECT_THAT(refusal("15:00:00 kbmemfree kbmemused\nwhat is this\n"), HasSubstr("line 2"));
    EXPECT_THAT(refusal("Linux 6.1.0 (n) \t11/17/26 \t_x86_64_\t(8 CPU)\n"), HasSubstr("has no series"));
}

TEST(SeriesInput, ReadsDockerStats) {
    const char* const lines =
        R"({"BlockIO":"0B / 0B","CPUPerc":"0.10%","Container":"ab12","ID":"ab12","MemPerc":"1%","MemUsage":"1.5GiB / 7.6GiB","Name":"train","NetIO":"1kB / 0B","PIDs":"3"})"
        "\n"
        R"({"Container":"cd34","MemUsage":"512KiB / 7.6GiB","Name":"web"})"
        "\n"
        R"({"Container":"ab12","MemUsage":"2GiB / 7.6GiB","Name":"train"})"
        "\n"
        R"({"Container":"cd34","MemUsage":"-- / --","Name":"web"})"
        "\n";
    EXPECT_THAT(refusal(lines), AllOf(HasSubstr("line 1"), HasSubstr("--interval 5s")));
    EXPECT_THAT(refusal(lines, {.interval = Seconds(5)}), HasSubstr("'train', 'web'"));
    EXPECT_THAT(read(lines, {.value = "train", .interval = Seconds(5)}),
                ElementsAre(Pair(0, 3 * kGiB / 2), Pair(5, 2 * kGiB)));
    const char* const dated =
        "1700000000 {\"Name\":\"train\",\"MemUsage\":\"1MiB / 2GiB\"}\n"
        "1700000007 {\"Name\":\"train\",\"MemUsage\":\"2MiB / 2GiB\"}\n";
    EXPECT_THAT(read(dated), ElementsAre(Pair(1700000000, kMiB), Pair(1700000007, 2 * kMiB)));
    EXPECT_THAT(refusal("{\"MemUsage\":\"1MiB / 2GiB\"\n", {.interval = Seconds(5)}), HasSubstr("line 1"));
    EXPECT_THAT(refusal("{\"Name\":\"a\",\"MemUsage\":\"lots / 2GiB\"}\n", {.interval = Seconds(5)}),
                HasSubstr("not a size"));
}

TEST(SeriesInput, ReadsTheTableOfDockerStats) {
    const char* const tables =
        "\x1b[2J\x1b[HCONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O       BLOCK I/O   "
        "PIDS\n"
        "ab12cd34ef56   train     99.10%    1.5GiB / 7.6GiB       19.7%     1kB / 0B      0B / 0B     3\n"
        "0123456789ab   web       0.10%     512KiB / 7.6GiB       0.1%      1kB / 0B      0B / 0B     3\n"
        "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O       BLOCK I/O   PIDS\n"
        "ab12cd34ef56   train     99.10%    2GiB / 7.6GiB         19.7%     1kB / 0B      0B / 0B     3\n";
    EXPECT_THAT(read(tables, {.value = "train", .interval = Seconds(5)}),
                ElementsAre(Pair(0, 3 * kGiB / 2), Pair(5, 2 * kGiB)));
    EXPECT_THAT(read(tables, {.value = "web", .interval = Seconds(5)}), ElementsAre(Pair(0, 512 * kKiB)));
}

TEST(SeriesInput, ReadsNvidiaSmi) {
    const char* const with_units =
        "timestamp, memory.used [MiB]\n"
        "2026/11/17 15:04:05.100, 1234 MiB\n"
        "2026/11/17 15:04:06.101, 1235 MiB\n";
    const auto samples = read(with_units);
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_NEAR(samples[1].first - samples[0].first, 1.001, 1e-6);
    EXPECT_EQ(samples[1].second, 1235 * kMiB);
    const char* const two =
        "timestamp, index, uuid, memory.used [MiB], memory.total [MiB]\n"
        "2026/11/17 15:04:05.100, 0, GPU-aa, 1234, 40960\n"
        "2026/11/17 15:04:05.103, 1, GPU-bb, 99, 40960\n"
        "2026/11/17 15:04:06.100, 0, GPU-aa, 1235, 40960\n"
        "2026/11/17 15:04:06.103, 1, GPU-bb, 98, 40960\n";
    EXPECT_THAT(refusal(two), AllOf(HasSubstr("2 series"), HasSubstr("--gpu: '0', '1'")));
    EXPECT_EQ(read(two, {.gpu = "1"}).back().second, 98 * kMiB);
    EXPECT_EQ(read(two, {.gpu = "GPU-aa"}).back().second, 1235 * kMiB);
    EXPECT_EQ(read(two, {.value = "memory.total", .gpu = "0"}).back().second, 40960 * kMiB);
    EXPECT_THAT(refusal(two, {.gpu = "7"}), HasSubstr("no GPU '7'"));
    const char* const unnamed =
        "timestamp, memory.used [MiB]\n"
        "2026/11/17 15:04:05.100, 1234\n"
        "2026/11/17 15:04:05.103, 99\n"
        "2026/11/17 15:04:06.100, 1235\n";
    EXPECT_THAT(refusal(unnamed), AllOf(HasSubstr("several GPUs"), HasSubstr("index")));
    EXPECT_THAT(refusal(unnamed, {.gpu = "0"}), HasSubstr("index"));
}

TEST(SeriesInput, ReadsRangesOfPrometheus) {
    const char* const api =
        R"({"status":"success","data":{"resultType":"matrix","result":[)"
        "\n"
        R"({"metric":{"__name__":"memory_bytes","job":"a"},"values":[[1700000000,"100"],[1700000015.5,"1.5e3"],[1700000030,"NaN"]]},)"
        "\n"
        R"({"metric":{"__name__":"memory_bytes","job":"b"},"values":[[1700000000,"7"]]}]}})";
    EXPECT_THAT(refusal(api), AllOf(HasSubstr("2 series"), HasSubstr("memory_bytes{job=\"a\"}"), HasSubstr("--value")));
    EXPECT_THAT(read(api, {.value = "job=\"a\""}), ElementsAre(Pair(1700000000, 100), Pair(1700000015.5, 1500)));
    const char* const promtool = R"([{"metric":{"job":"a"},"values":[[1700000000,"2"],[1700000015,"3"]]}])";
    EXPECT_THAT(read(promtool, {.unit = "kB"}), ElementsAre(Pair(1700000000, 2 * kKiB), Pair(1700000015, 3 * kKiB)));
    EXPECT_THAT(refusal(R"({"status":"error","error":"bad query"})"), HasSubstr("bad query"));
    EXPECT_THAT(refusal(R"({"status":"success","data":{"resultType":"vector","result":[]}})"), HasSubstr("vector"));
    EXPECT_THAT(refusal("{\"a\":\n{]"), HasSubstr("line 2"));
    EXPECT_THAT(refusal("{}"), HasSubstr("query_range"));
    EXPECT_THAT(refusal("[]\n"), HasSubstr("the query found no samples"));
    EXPECT_THAT(refusal(R"({"status":"success","data":{"resultType":"matrix","result":[]}})"), HasSubstr("found no"));
    EXPECT_THAT(refusal("memory_bytes{job=\"a\"} =>\n100 @[1700000000]\n"), HasSubstr("-o json"));
    EXPECT_THAT(refusal(R"([{"metric":{},"values":[[2,"1"],[1,"1"]]}])"), HasSubstr("before"));
    EXPECT_THAT(refusal(R"([{"metric":{},"values":[[2,"x"]]}])"), HasSubstr("not a number"));
    EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("line 1"));
}

TEST(SeriesInput, TheNumberOfSeriesIsBounded) {
    std::string text = "Linux 6.1.0 (n) \t11/17/26 \t_x86_64_\t(8 CPU)\n15:00:00 UID PID RSS Command\n";
    for (int i = 0; i < 2000; ++i) text += "15:00:01 0 " + std::to_string(i) + " 5 p\n";
    EXPECT_THAT(refusal(text), HasSubstr("more than 1000 series"));
}

TEST(SeriesInput, LongNamesAreListedShort) {
    const std::string long_command = std::string(119, 'x') + "\u00e9" + std::string(500, 'y');
    const std::string error =
        refusal("15:00:00 UID PID RSS Command\n15:00:01 0 1 5 a\n15:00:01 0 2 5 " + long_command + "\n");
    EXPECT_THAT(error, AllOf(HasSubstr("'1 a'"), HasSubstr("'2 xxx"), HasSubstr("...'")));
    EXPECT_LT(error.size(), 300U);
}

TEST(SeriesInput, ErrorsNameTheFile) {
    const FakeTree tree{{"a.csv", "time,rss_kb\n1,x\n"}};
    const auto take = [](Seconds, Bytes) {};
    EXPECT_THAT(read_series(tree.at("a.csv"), {}, take).error().message(),
                StartsWith(tree.at("a.csv").string() + ": line 2"));
    EXPECT_THAT(read_series(tree.at("none"), {}, take).error().message(), HasSubstr("No such file"));
    EXPECT_FALSE(read_series(tree.at("."), {}, take));
}

}  // namespace series_input_test
}  // namespace memscope

#include "outputs/growth/growth_pprof.h"

#include <gmock/gmock.h>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <zlib.h>

#include "growth_example.h"

namespace memscope {
namespace growth_pprof_test {

using protozero::pbf_reader;
using testing::ElementsAre;
using testing::IsEmpty;

std::string unzipped(const std::string& bytes) {
    z_stream stream{};
    EXPECT_EQ(::inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
    std::string out(std::size_t{64} << 20U, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    ::inflateEnd(&stream);
    return out;
}

// The parts of a profile that these tests check. Field numbers are those of profile.proto.
struct Profile {
    struct Sample {
        std::vector<std::string> frames{};  // innermost first: "function file:line"
        std::vector<std::int64_t> values{};
        std::map<std::string, std::string> labels{};
    };
    std::vector<std::string> strings{};
    std::vector<std::string> types{};
    std::vector<std::string> files_mapped{};
    std::map<std::uint64_t, std::string> locations{};
    std::vector<Sample> samples{};
    std::size_t functions = 0;

    const Sample* find(const std::string& leaf) const {
        for (const Sample& sample : samples)
            for (const std::string& frame : sample.frames)
                if (frame == leaf) return &sample;
        return nullptr;
    }
};

// One number of a message; 0 if it is missing, as in protobuf.
std::uint64_t number(pbf_reader message, std::uint32_t field) {
    return message.next(field, protozero::pbf_wire_type::varint) ? message.get_uint64() : 0;
}

Profile read_profile(const std::string& bytes) {
    const std::string raw = unzipped(bytes);
    Profile profile;
    for (pbf_reader top(raw); top.next(6);) profile.strings.push_back(top.get_string());
    const auto text = [&](std::uint64_t index) { return profile.strings.at(index); };
    for (pbf_reader top(raw); top.next(1);) {
        const auto type = top.get_message();
        profile.types.push_back(text(number(type, 1)) + "/" + text(number(type, 2)));
    }
    std::map<std::uint64_t, std::pair<std::string, std::string>> functions;
    for (pbf_reader top(raw); top.next(5);) {
        const auto function = top.get_message();
        functions[number(function, 1)] = {text(number(function, 2)), text(number(function, 4))};
    }
    profile.functions = functions.size();
    std::set<std::uint64_t> mappings{0};
    for (pbf_reader top(raw); top.next(3);) {
        const auto mapping = top.get_message();
        mappings.insert(number(mapping, 1));
        profile.files_mapped.push_back(text(number(mapping, 5)));
    }
    for (pbf_reader top(raw); top.next(4);) {
        auto location = top.get_message();
        EXPECT_TRUE(mappings.contains(number(location, 2)));
        const std::uint64_t id = number(location, 1);
        EXPECT_TRUE(location.next(4));
        const auto line = location.get_message();
        const auto& [name, file] = functions.at(number(line, 1));
        profile.locations[id] = name + " " + file + ":" + std::to_string(number(line, 2));
    }
    for (pbf_reader top(raw); top.next(2);) {
        Profile::Sample sample;
        for (auto message = top.get_message(); message.next();) {
            if (message.tag() == 1)
                for (const auto id : message.get_packed_uint64()) sample.frames.push_back(profile.locations.at(id));
            if (message.tag() == 2)
                for (const auto value : message.get_packed_int64()) sample.values.push_back(value);
            if (message.tag() == 3) {
                const auto label = message.get_message();
                const std::uint64_t named = number(label, 2);
                sample.labels[text(number(label, 1))] = named ? text(named) : std::to_string(number(label, 3));
            }
        }
        profile.samples.push_back(std::move(sample));
    }
    return profile;
}

TEST(GrowthPprof, HasOneSampleTypeForEachPlane) {
    EXPECT_THAT(read_profile(growth_pprof(test::grown())).types,
                ElementsAre("resident/bytes", "mapped/bytes", "tensors_host/bytes", "gpu/bytes", "pinned/bytes"));
}

TEST(GrowthPprof, ASiteInBothPlanesIsOneSampleInnermostFirst) {
    const auto profile = read_profile(growth_pprof(test::grown()));
    const auto* sample = profile.find("History.append /home/ada/job/history.py:41");
    ASSERT_TRUE(sample);
    EXPECT_THAT(sample->values, ElementsAre(900 * test::kMiB, 2048 * test::kMiB, 0, 0, 0));
    EXPECT_THAT(sample->frames,
                ElementsAre("__memset_generic /usr/lib/libc.so.6:0", "PyObject_Malloc /usr/bin/python3.11:0",
                            "History.append /home/ada/job/history.py:41", "train_step /home/ada/job/train.py:118",
                            "main /home/ada/job/train.py:203", "<module> /home/ada/job/train.py:240"));
    EXPECT_EQ(sample->labels.at("role"), "trainer");
    EXPECT_EQ(sample->labels.at("processes"), "1");
    EXPECT_EQ(sample->labels.at("rank"), "0");
}

TEST(GrowthPprof, SitesBeyondTheTopAndUnattributedGrowthAreSamples) {
    GrowthReport report = test::grown();
    report.top = 2;
    const auto profile = read_profile(growth_pprof(report));
    EXPECT_THAT(profile.find("[left out: 2 call sites] :0")->values, ElementsAre(32 * test::kMiB, 0, 0, 0, 0));
    EXPECT_THAT(profile.find("[unattributed: external] :0")->values, ElementsAre(-3 * test::kMiB, 0, 0, 0, 0));
    EXPECT_THAT(profile.find("[unattributed: exited] :0")->values, ElementsAre(0, 5 * test::kMiB, 0, 0, 0));
    EXPECT_THAT(read_profile(growth_pprof(test::grown())).find("free /home/ada/job/train.py:9")->values,
                ElementsAre(-8 * test::kMiB, 0, 0, 0, 0));
}

TEST(GrowthPprof, EveryNameIsWrittenOnce) {
    const auto profile = read_profile(growth_pprof(test::many_sites(10'000)));
    EXPECT_EQ(profile.samples.size(), 10'000U);
    EXPECT_EQ(profile.functions, 3U);
    EXPECT_EQ(profile.locations.size(), 10'002U);
    EXPECT_THAT(profile.files_mapped, ElementsAre("/lib/libc.so.6"));
    EXPECT_EQ(std::set(profile.strings.begin(), profile.strings.end()).size(), profile.strings.size());
    EXPECT_EQ(profile.strings.front(), "");
}

TEST(GrowthPprof, HostileNamesAreMadePrintable) {
    const auto profile = read_profile(growth_pprof(test::hostile_growth()));
    EXPECT_TRUE(profile.find("f;g\\n7 99\\x1b[2J /tmp/\xEF\xBF\xBD\xEF\xBF\xBD;\\x0d\\n.py:3"));
    EXPECT_EQ(profile.samples.size(), 2U + 2U) << "sites without a stack are one; two reasons";
}

TEST(GrowthPprof, WithoutGrowthThereAreNoSamples) { EXPECT_THAT(read_profile(growth_pprof({})).samples, IsEmpty()); }

TEST(GrowthPprof, TheSameGrowthIsTheSameFile) { EXPECT_EQ(growth_pprof(test::grown()), growth_pprof(test::grown())); }

}  // namespace growth_pprof_test
}  // namespace memscope

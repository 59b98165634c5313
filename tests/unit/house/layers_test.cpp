// The dependency rule: an include may name only a library that the folder links, and each linked library is included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "source_files.h"

namespace layers_test {

using Layers = std::map<std::string, std::set<std::string>>;

// The libraries that each folder links, from a file of CMake with lines like "outputs: analysis model base".
Layers linked_layers() {
    Layers layers;
    std::ifstream file(MEMSCOPE_LAYERS_FILE);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        name.pop_back();  // the colon
        auto& uses = layers[name];
        for (std::string other; words >> other;) uses.insert(other);
    }
    return layers;
}

// The layers that a text includes, once per include.
std::vector<std::string> included_layers(const std::string& text) {
    static const std::regex include(R"re(^\s*#\s*include\s*"([^"/]+)/[^"]*")re", std::regex::multiline);
    std::vector<std::string> included;
    for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) included.push_back((*it)[1]);
    return included;
}

// Every include of `text` that names a layer which the folder does not link.
std::vector<std::string> forbidden_includes(const std::string& layer, const std::string& text, const Layers& layers) {
    std::vector<std::string> forbidden;
    for (const std::string& other : included_layers(text))
        if (other != layer && !layers.at(layer).contains(other)) forbidden.push_back(layer + " -> " + other);
    return forbidden;
}

bool reaches(const Layers& layers, const std::string& from, const std::string& to) {
    const auto& uses = layers.at(from);
    return uses.contains(to) ||
           std::any_of(uses.begin(), uses.end(), [&](const auto& via) { return reaches(layers, via, to); });
}

TEST(House, EveryIncludePointsToALinkedLayer) {
    const Layers layers = linked_layers();
    const fs::path userspace = fs::path(MEMSCOPE_SOURCE_DIR) / "userspace";
    std::size_t files = 0;
    for (const fs::path& file : source_files("userspace")) {
        ++files;
        const std::string layer = *fs::relative(file, userspace).begin();
        ASSERT_TRUE(layers.contains(layer)) << file << " is in no layer";
        EXPECT_THAT(forbidden_includes(layer, content_of(file), layers), testing::IsEmpty()) << file;
    }
    EXPECT_GT(files, 30U);
}

TEST(House, EveryLinkedLayerIsIncluded) {
    const fs::path userspace = fs::path(MEMSCOPE_SOURCE_DIR) / "userspace";
    Layers included;
    for (const fs::path& file : source_files("userspace"))
        for (const std::string& other : included_layers(content_of(file)))
            included[*fs::relative(file, userspace).begin()].insert(other);
    for (const auto& [layer, uses] : linked_layers())
        for (const std::string& other : uses) EXPECT_TRUE(included[layer].contains(other)) << layer << " -> " << other;
}

TEST(House, LayersHaveNoCycle) {
    const Layers layers = linked_layers();
    for (const auto& [layer, uses] : layers) EXPECT_FALSE(reaches(layers, layer, layer)) << layer << " reaches itself";
    EXPECT_FALSE(reaches(layers, "analysis", "kernel"));
    EXPECT_FALSE(reaches(layers, "outputs", "sources"));
    EXPECT_TRUE(layers.at("base").empty());
}

TEST(House, FindsForbiddenIncludes) {
    const Layers layers = linked_layers();
    EXPECT_THAT(forbidden_includes("model", "#include \"outputs/board.h\"\n", layers),
                testing::ElementsAre("model -> outputs"));
    EXPECT_THAT(forbidden_includes("outputs", "#include <map>\n  #include \"sources/host.h\"\n", layers),
                testing::ElementsAre("outputs -> sources"));
    EXPECT_THAT(forbidden_includes("outputs", "#include \"model/memory.h\"\n#include \"outputs/board.h\"\n", layers),
                testing::IsEmpty());
}

TEST(House, OnlyTheKernelLayerSeesSkeletonsAndLibbpf) {
    const fs::path userspace = fs::path(MEMSCOPE_SOURCE_DIR) / "userspace";
    for (const auto& entry : fs::recursive_directory_iterator(userspace)) {
        if (!entry.is_regular_file() || *fs::relative(entry.path(), userspace).begin() == "kernel") continue;
        const std::string text = content_of(entry.path());
        EXPECT_EQ(text.find(".skel.h"), std::string::npos) << entry.path();
        EXPECT_EQ(text.find("<bpf/"), std::string::npos) << entry.path();
    }
}

}  // namespace layers_test

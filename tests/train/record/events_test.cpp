#include "train/record/events.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/files.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::write_text;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

EventFile read_text(std::string_view text) { return read_events(std::as_bytes(std::span(text))); }

std::string why_refused(std::string_view text) {
  return refusal([&] { read_text(text); });
}

TEST(EventLine, IsOneJsonObject) {
  EXPECT_EQ(
      "{\"event\":\"step\",\"step\":3,\"epoch\":1,\"loss\":2.5,\"lr\":0.001,\"lgi\":0.25,\"brake\":0.5,"
      "\"probed\":true,"
      "\"within_noise\":false,\"skipped\":false,\"non_finite_probes\":2,\"probe_seconds\":0.125}\n",
      to_line(StepEvent{3, 1, 2.5, 0.001, 0.25, 0.5, true, false, false, 2, 0.125}));
  EXPECT_EQ(
      "{\"event\":\"epoch\",\"epoch\":2,\"step\":20,\"train_loss\":1.5,\"test_loss\":null,\"test_accuracy\":"
      "0.5,"
      "\"mean_lgi\":0.0,\"mean_brake\":1.0,\"train_seconds\":9.0,\"evaluate_seconds\":1.0,\"peak_memory\":"
      "1000}\n",
      to_line(EpochEvent{2, 20, 1.5, kNotANumber, 0.5, 0, 1, 9, 1, 1000}));
  EXPECT_EQ("{\"event\":\"note\",\"text\":\"a \\\"b\\\"\\n\xc3\xbc\"}\n",
            to_line(NoteEvent{"a \"b\"\n\xc3\xbc"}));
}

TEST(EventLine, BytesThatAreNoTextDoNotStopARun) {
  EXPECT_EQ("{\"event\":\"note\",\"text\":\"\xef\xbf\xbd\"}\n", to_line(NoteEvent{"\xff"}));
}

// What a line says, or the sentence that refuses it.
std::string meaning_of(const std::string& line) {
  try {
    const auto event = read_event(line, 1);
    return event ? to_line(*event) : "nothing";
  } catch (const Error& error) {
    return error.what();
  }
}

// Steps are read by a shortcut if they are written exactly as to_line() does. A space makes them take the
// long way.
TEST(ReadEvent, TheShortcutForStepsReadsWhatTheJsonReaderReadsAndRefusesWhatItRefuses) {
  StepEvent step{7, 2, 0.1 + 0.2, 1e-300, -3.5e+20, 0.4, true, false, true, 5, 1e-9};
  step.residual = 0.125;
  step.group_lgi = {0.5, kNotANumber};
  step.group_brakes = {1, -0.0};
  auto line = to_line(step);
  line.pop_back();
  ASSERT_EQ(meaning_of(line), to_line(step));
  const auto check = [](const std::string& text) {
    EXPECT_EQ(meaning_of(text), meaning_of(text.empty() ? " " : text.substr(0, 1) + ' ' + text.substr(1)))
        << text;
  };
  for (std::size_t at = 1; at < line.size(); ++at) {
    check(line.substr(0, at));
    check(line.substr(0, at) + line.substr(at + 1));
    for (const char letter : std::string_view("09-+.eE\"[]{},:nultra \x80", 23)) {
      auto changed = line;
      changed[at] = letter;
      check(changed);
      check(line.substr(0, at) + letter + line.substr(at));
    }
  }
  for (const char* number : {"01",   "1.",   ".5",    "+1",     "inf",
                             "nan",  "NaN",  "1e999", "-1e999", "1e-999",
                             "-0",   "1E5",  "1e+05", "0x10",   "99999999999999999999",
                             "1.5e", "null", "true",  "\"1\"",  "[]"}) {
    for (const char* field : {"\"step\":7", "\"loss\":0.30000000000000004", "\"residual\":0.125"}) {
      auto changed = line;
      const std::string name = std::string(field).substr(0, std::string(field).find(':') + 1);
      changed.replace(changed.find(field), std::string(field).size(), name + number);
      check(changed);
    }
  }
  check(line + "}");
  check(line.substr(0, line.size() - 1) + ",\"later\":1}");
}

TEST(ReadEvents, GivesBackWhatWasWritten) {
  const StepEvent step{7, 2, 0.1 + 0.2, 1e-300, 0.3, 0.4, true, true, true, 5, 1e-9};
  const EpochEvent epoch{2,   7,   1.0 / 3, 0.2, 0.3,
                         0.4, 0.5, 0.6,     0.7, std::numeric_limits<std::int64_t>::max()};
  const auto file = read_text(to_line(step) + to_line(NoteEvent{"resumed"}) + to_line(epoch) + to_line(step));
  ASSERT_EQ(2U, file.steps.size());
  ASSERT_EQ(1U, file.epochs.size());
  ASSERT_EQ(1U, file.notes.size());
  EXPECT_EQ(0U, file.cut_line);
  const auto& s = file.steps[1];
  EXPECT_EQ(std::tie(step.step, step.epoch, step.loss, step.lr, step.lgi, step.brake),
            std::tie(s.step, s.epoch, s.loss, s.lr, s.lgi, s.brake));
  EXPECT_TRUE(s.probed && s.within_noise && s.skipped);
  EXPECT_EQ(std::tie(step.non_finite_probes, step.probe_seconds),
            std::tie(s.non_finite_probes, s.probe_seconds));
  const auto& e = file.epochs[0];
  EXPECT_EQ(std::tie(epoch.epoch, epoch.step, epoch.train_loss, epoch.test_loss, epoch.test_accuracy),
            std::tie(e.epoch, e.step, e.train_loss, e.test_loss, e.test_accuracy));
  EXPECT_EQ(std::tie(epoch.mean_lgi, epoch.mean_brake, epoch.train_seconds, epoch.evaluate_seconds),
            std::tie(e.mean_lgi, e.mean_brake, e.train_seconds, e.evaluate_seconds));
  EXPECT_EQ(epoch.peak_memory, e.peak_memory);
  EXPECT_EQ("resumed", file.notes[0].text);
}

TEST(ReadEvents, ListsOfGroupsAreThereOnlyWhereThereAreAny) {
  StepEvent step;
  EXPECT_FALSE(says(to_line(step), "group"));
  EXPECT_TRUE(read_text(to_line(step)).steps.at(0).group_lgi.empty());
  step.group_lgi = {0.25, kNotANumber};
  step.group_brakes = {0.5, 1};
  EXPECT_TRUE(says(to_line(step), R"("group_lgi":[0.25,null],"group_brakes":[0.5,1.0])"));
  const auto read = read_text(to_line(step)).steps.at(0);
  EXPECT_EQ(0.25, read.group_lgi.at(0));
  EXPECT_TRUE(std::isnan(read.group_lgi.at(1)));
  EXPECT_EQ(step.group_brakes, read.group_brakes);
  auto line = to_line(step);
  EXPECT_TRUE(says(why_refused(line.replace(line.find("[0.25,null]"), 11, "3")), "'group_lgi' is no list"));
}

TEST(BestOf, IsTheFirstOfEquals) {
  EXPECT_EQ(nullptr, best_of({}));
  std::vector<EpochEvent> epochs(4);
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    epochs[i].epoch = static_cast<std::int64_t>(i) + 1;
    epochs[i].test_accuracy = std::vector{kNotANumber, 0.25, 0.5, 0.5}[i];
  }
  EXPECT_EQ(3, best_of(epochs)->epoch);
}

TEST(ReadEvents, NumbersThatAreNotFiniteBecomeNaN) {
  for (const double loss : {kNotANumber, HUGE_VAL, -HUGE_VAL}) {
    StepEvent step;
    step.loss = loss;
    const auto line = to_line(step);
    EXPECT_TRUE(says(line, "\"loss\":null"));
    EXPECT_TRUE(std::isnan(read_text(line).steps.at(0).loss));
  }
}

TEST(ReadEvents, ALastLineWithoutItsEndIsNotRead) {
  const auto line = to_line(NoteEvent{"whole"});
  for (std::size_t length = 1; length < line.size(); ++length) {
    const auto file = read_text(line + line + line.substr(0, length));
    EXPECT_EQ(2U, file.notes.size());
    EXPECT_EQ(3U, file.cut_line);
  }
  EXPECT_EQ(0U, read_text(line).cut_line);
  EXPECT_EQ(0U, read_text("").cut_line);
}

TEST(ReadEvents, NewerFilesCanBeRead) {
  const auto file = read_text(
      "{\"event\":\"weather\",\"rain\":[1,{}]}\n{\"new\":{\"field\":1},\"event\":\"note\",\"text\":\"a\"}\n");
  ASSERT_EQ(1U, file.notes.size());
  EXPECT_EQ("a", file.notes[0].text);
}

TEST(ReadEvents, AnythingElseIsRefusedWithItsLine) {
  const auto line = to_line(NoteEvent{"a"});
  EXPECT_EQ("line 2 is not an event: it is no JSON object: the file is damaged or another one.",
            why_refused(line + "\n" + line));
  EXPECT_TRUE(says(why_refused("<html>\n"), "line 1 is not an event: it is no JSON object"));
  EXPECT_TRUE(says(why_refused("[1]\n"), "line 1 is not an event: it is no JSON object"));
  EXPECT_TRUE(says(why_refused(line + line.substr(0, 9) + "\n" + line), "line 2 is not an event"));
  EXPECT_TRUE(says(why_refused("{}\n"), "'event' is missing"));
  EXPECT_TRUE(says(why_refused("{\"event\":1}\n"), "'event' is no text"));
  EXPECT_TRUE(says(why_refused("{\"event\":\"note\"}\n"), "'text' is missing"));
}

TEST(ReadEvents, FieldsOfAnotherTypeAreRefused) {
  const auto line = to_line(StepEvent{});
  const auto changed = [&](const std::string& field, const std::string& value) {
    const auto at = line.find("\"" + field + "\":") + field.size() + 3;
    return line.substr(0, at) + value + line.substr(line.find_first_of(",}", at));
  };
  EXPECT_NO_THROW(read_text(changed("step", "5")));
  EXPECT_NO_THROW(read_text(changed("step", "-9223372036854775808")));
  EXPECT_NO_THROW(read_text(changed("loss", "1")));
  for (const std::string value : {"1.5", "9223372036854775808", "null", "true", "\"1\"", "[1]"})
    EXPECT_TRUE(says(why_refused(changed("step", value)), "'step' is no integer")) << value;
  for (const std::string value : {"true", "\"1\"", "[1]"})
    EXPECT_TRUE(says(why_refused(changed("loss", value)), "'loss' is no number")) << value;
  EXPECT_TRUE(says(why_refused(changed("probed", "1")), "'probed' is neither true nor false"));
  EXPECT_TRUE(says(why_refused(changed("loss", "1e999")), "it is no JSON object"));
}

TEST(ReadEvents, NamesTheFile) {
  const TemporaryFolder folder;
  const auto path = folder / "events.jsonl";
  EXPECT_EQ("cannot open " + path.string() + ": No such file or directory.",
            refusal([&] { read_events(path); }));
  write_text(path, "x\n");
  EXPECT_TRUE(says(refusal([&] { read_events(path); }), path.string() + ": line 1 is not an event"));
  write_text(path, to_line(NoteEvent{"a"}) + "{");
  EXPECT_EQ(2U, read_events(path).cut_line);
}

TEST(StepCounts, CountEveryKindOfTrouble) {
  StepCounts counts;
  StepEvent good;
  good.probed = true;
  counts.add(good);
  StepEvent noisy = good;
  noisy.within_noise = true;
  noisy.non_finite_probes = 2;
  counts.add(noisy);
  StepEvent skipped;
  skipped.skipped = true;
  counts.add(skipped);
  EXPECT_EQ(counts, (StepCounts{3, 1, 2, 1, 2}));

  const auto list = sentences(counts);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_TRUE(says(list[0], "1 of 3 steps were skipped"));
  EXPECT_TRUE(says(list[1], "2 probes"));
  EXPECT_TRUE(says(list[2], "In 1 of 2 probed steps"));
}

TEST(StepCounts, ThereIsNothingToSayOfARunThatWentWell) {
  EXPECT_TRUE(sentences({100, 0, 100, 0, 0}).empty());
  EXPECT_EQ(divergence({}, {10, 9, 1, 0, 0}), "");
}

TEST(StepCounts, ARunThatLearnedNothingInItsLastEpochDiverged) {
  EXPECT_TRUE(says(divergence({}, {10, 10, 0, 0, 0}), "every step of the last epoch was skipped"));
  EpochEvent last;
  last.test_loss = std::nan("");
  EXPECT_TRUE(says(divergence(last, {10, 3, 7, 0, 0}), "test loss"));
  last.train_loss = INFINITY;
  EXPECT_TRUE(says(divergence(last, {10, 3, 7, 0, 0}), "training loss"));
  EXPECT_TRUE(says(divergence(last, {10, 3, 7, 0, 0}), "try a smaller optimizer.lr."));
  last.train_loss = 4.6;
  last.test_loss = 900;
  EXPECT_EQ(divergence(last, {10, 0, 10, 0, 0}), "");
  last.test_loss = 3.9e20;
  EXPECT_TRUE(says(divergence(last, {10, 0, 10, 0, 0}), "the loss of the last epoch is 3.9e+20"));
}

// (The test runs in the root of the source.)
TEST(Events, EveryFieldIsInTheDocumentation) {
  std::ifstream file("docs/runs.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(page.empty());
  StepEvent step;
  step.residual = 1;
  step.group_lgi = step.group_brakes = {1};
  for (const auto& event :
       std::vector<Event>{step, EpochEvent{}, ChatterEvent{}, RegimeEvent{}, NoteEvent{}}) {
    const auto line = nlohmann::json::parse(to_line(event));
    for (const auto& [name, value] : line.items())
      EXPECT_NE(page.find('`' + name + '`'), std::string::npos) << name;
    EXPECT_NE(page.find('`' + line["event"].get<std::string>() + '`'), std::string::npos);
  }
}

}  // namespace
}  // namespace sadam::train

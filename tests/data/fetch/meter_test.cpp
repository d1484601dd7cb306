#include "data/fetch/meter.h"

#include <gtest/gtest.h>

#include <sstream>

namespace sadam::data {
namespace {

using namespace std::chrono_literals;

const Meter::Clock::time_point start{100s};

TEST(Meter, PrintsALineEveryTenPercentWhereThereIsNoTerminal) {
  std::ostringstream out;
  Meter meter(out, false);
  for (std::uint64_t done = 0; done <= 1000; ++done)
    meter.show("set", done * 100'000, 100'000'000, Meter::Unit::bytes, start + done * 10ms);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_TRUE(text.starts_with("set   10 %  10.0 of 100.0 MB  10.0 MB/s  9.0 s left\n")) << text;
  EXPECT_TRUE(text.ends_with("set  100 %  100.0 of 100.0 MB  10.0 MB/s\n")) << text;
}

TEST(Meter, SaysNothingOfWhatTakesNoTimeWhereThereIsNoTerminal) {
  std::ostringstream out;
  Meter meter(out, false);
  for (std::uint64_t done = 0; done <= 100; ++done)
    meter.show("set", done, 100, Meter::Unit::bytes, start + done * 1ms);
  EXPECT_EQ(out.str(), "");
}

TEST(Meter, MovesOneLineOnATerminalAndTakesItAway) {
  std::ostringstream out;
  {
    Meter meter(out, true);
    meter.show("set", 0, 1'000'000, Meter::Unit::bytes, start);
    meter.show("set", 500'000, 1'000'000, Meter::Unit::bytes, start + 1s);
  }
  const std::string text = out.str();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_NE(text.find("\rset   50 %  0.5 of 1.0 MB  0.5 MB/s  1.0 s left"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(" \r"));
}

TEST(Meter, DrawsATerminalAtMostTenTimesASecond) {
  std::ostringstream out;
  Meter meter(out, true);
  for (std::uint64_t done = 0; done < 1000; ++done)
    meter.show("set", done, 100'000, Meter::Unit::bytes, start + done * 1ms);
  const std::string text = out.str();
  EXPECT_LE(std::count(text.begin(), text.end(), '\r'), 11);
}

TEST(Meter, DoesNotCountWhatWasThereBeforeAsSpeed) {
  std::ostringstream out;
  Meter meter(out, false);
  meter.show("set", 50'000'000, 100'000'000, Meter::Unit::bytes, start);
  EXPECT_EQ(out.str(), "");
  meter.show("set", 60'000'000, 100'000'000, Meter::Unit::bytes, start + 10s);
  EXPECT_EQ(out.str(), "set   60 %  60.0 of 100.0 MB  1.0 MB/s  40 s left\n");
}

TEST(Meter, CountsItemsAndUnknownSizes) {
  std::ostringstream out;
  Meter meter(out, true);
  meter.show("files", 3, 10, Meter::Unit::items, start);
  EXPECT_EQ(out.str(), "\rfiles   30 %  3 of 10");
  out.str("");
  meter.show("set", 1'500'000, 0, Meter::Unit::bytes, start);
  EXPECT_NE(out.str().find("\rset  1.5 MB"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace sadam::data

// Several processes that train one run: started by the program itself, by torchrun, or by launchers whose
// variables are set here. Whoever trains is executed, as a person would.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cli/program.h"
#include "data/png_writer.h"
#include "support/free_port.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::milliseconds;
using testing::free_port;

constexpr auto kByExec = Background::Start::by_exec;
// Where nobody trains: a start takes half a second.
constexpr auto kByFork = Background::Start::by_fork;

std::vector<Json> events_in(const fs::path& run) {
  std::vector<Json> events;
  std::ifstream file(run / "events.jsonl");
  for (std::string line; std::getline(file, line);) events.push_back(Json::parse(line));
  return events;
}

/// The largest difference of a number in the first events of two runs. Equal counts as 0, also if not finite.
double largest_difference(const fs::path& a, const fs::path& b, const char* number,
                          std::size_t events = 1000) {
  const auto of_a = events_in(a);
  const auto of_b = events_in(b);
  EXPECT_EQ(of_a.size(), of_b.size());
  double largest = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < std::min({of_a.size(), of_b.size(), events}); ++i) {
    if (!of_a[i].contains(number)) continue;
    ++found;
    largest = std::max(largest, std::abs(of_a[i][number].get<double>() - of_b[i].value(number, 1e9)));
  }
  EXPECT_GT(found, 0u) << number;
  return largest;
}

/// The tensors of the last epoch, without the recipe that is exported with them.
std::string weights_of(const fs::path& run) {
  const auto file = run / "weights.safetensors";
  if (!fs::exists(file)) {
    const auto ended = run_program({"export", run.string(), file.string()});
    EXPECT_EQ(ended.status, 0) << ended.err;
  }
  const auto bytes = text_of_file(file);
  std::uint64_t header = 0;
  if (bytes.size() < sizeof(header)) return "";
  std::memcpy(&header, bytes.data(), sizeof(header));
  return bytes.substr(sizeof(header) + header);
}

bool is_there(int process) { return ::kill(process, 0) == 0; }

class Processes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = std::make_unique<TemporaryFolder>(); }
  static void TearDownTestSuite() { shared_.reset(); }

  /// A run of two that nothing happened to, with masks of their own, long enough to be disturbed.
  static std::vector<std::string> of_two() {
    return {"train.processes=2", "train.epochs=3", "train.checkpoint_every=10"};
  }
  fs::path undisturbed() const {
    const auto name = shared_->path() / "undisturbed";
    if (!fs::exists(name)) fs::rename(trained("undisturbed", of_two()), name);
    return name;
  }

  fs::path run(const std::string& name) const { return folder_.path() / name; }

  Arguments training(const std::string& name, const std::vector<std::string>& sets = {}) const {
    Arguments arguments = {"train", "--root", folder_.path().string(), "--name", name};
    const auto fields = small_run(320);
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    arguments.insert(arguments.end(), {"--set", "train.evaluate_batch=20"});
    for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
    return arguments;
  }
  fs::path trained(const std::string& name, const std::vector<std::string>& sets = {}) const {
    const auto ended = execute_program(training(name, sets));
    EXPECT_EQ(ended.status, 0) << ended.err;
    return run(name);
  }
  fs::path resumed(const std::string& name, const std::vector<std::string>& sets = {}) const {
    Arguments arguments = {"train", "--resume", run(name).string(), "--quiet"};
    for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
    const auto ended = execute_program(arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return run(name);
  }
  /// The same run, of which another process may have any number.
  void expect_same(const fs::path& a, const fs::path& b) const {
    EXPECT_TRUE(weights_of(a) == weights_of(b)) << "other weights";
    for (const char* const number : {"loss", "lgi", "brake", "test_accuracy"})
      EXPECT_EQ(largest_difference(a, b, number), 0) << number;
    EXPECT_LT(largest_difference(a, b, "test_loss"), 1e-12);
  }
  bool has_steps(const std::string& name, std::size_t count = 1) const {
    return comes_true([&] { return events_in_progress(name) >= count; });
  }
  std::size_t events_in_progress(const std::string& name) const {
    std::ifstream file(run(name) / "events.jsonl");
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }

  /// One process for each list of variables, all at once. Their ends, in order.
  std::vector<Ended> launched(const std::vector<std::vector<std::string>>& ranks, const Arguments& arguments,
                              Background::Start start) const {
    std::vector<Background> started;
    for (const auto& environment : ranks)
      started.emplace_back(arguments, Background::Surroundings{environment, {}}, start);
    std::vector<Ended> ended;
    for (auto& process : started) ended.push_back(process.wait());
    return ended;
  }

  /// Kills one of the two, again and again at random moments, and lets the run go on each time.
  void expect_to_survive_kills(int times) const {
    const char* const given = std::getenv("SADAM_TEST_SEED");
    const auto seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
    std::cout << "SADAM_TEST_SEED=" << seed << std::endl;
    std::mt19937 random(seed);
    const auto is_begun = [&] { return fs::exists(run("killed") / "run.toml"); };
    int in_the_middle = 0;
    unsigned longest = 2000;  // ms
    for (int i = 0; i < times; ++i) {
      Background program(is_begun() ? Arguments{"train", "--resume", run("killed").string(), "--quiet"}
                                    : training("killed", of_two()),
                         kByExec);
      std::vector<int> others;
      ASSERT_TRUE(comes_true(
          [&] { return !(others = children_of(program.process())).empty() || program.has_ended(); }));
      const bool is_leader = random() % 2 == 0;
      if (!others.empty()) {
        std::this_thread::sleep_for(milliseconds(random() % longest));
        ::kill(is_leader ? program.process() : others.front(), SIGKILL);
      }
      const auto ended = program.wait();
      if (others.empty())
        --in_the_middle;  // the kill before came after the last checkpoint, so nothing was left to do
      else                // whoever was killed, nobody is left
        EXPECT_TRUE(comes_true([&] { return !is_there(others.front()); }));
      if (ended.status == 0 && in_the_middle > 0) break;  // it was faster
      if (ended.status == 0) {
        fs::remove_all(run("killed"));
        longest = std::max(longest / 2, 50U);
        times = std::min(times + 1, 12);
        continue;
      }
      ++in_the_middle;
      if (!is_leader) {
        // Before that it may say that there was no checkpoint yet.
        EXPECT_TRUE(ended.err.ends_with(
            "sadam: rank 1 of 2 was ended by signal 9 (Killed): look for the reason, such as too "
            "little memory; --resume goes on with what was saved.\n"))
            << ended.err;
      }
    }
    EXPECT_GE(in_the_middle, 1);
    expect_same(undisturbed(), is_begun() ? resumed("killed") : trained("killed", of_two()));
  }

  static inline std::unique_ptr<TemporaryFolder> shared_;
  TemporaryFolder folder_;
};

TEST_F(Processes, ThatShareTheProbesTrainTheRunOfOneBitForBit) {
  const auto alone = trained("alone");        // with dropout
  for (const char* const count : {"2", "3"})  // two, and one that has none of them
    expect_same(alone, trained(count, {std::string("train.processes=") + count, "train.split=probes"}));
}

// A network here sees a batch as a whole: QATNet quantizes it by its largest number. So the run is that of
// one process which sees the parts of a batch one after the other.
TEST_F(Processes, ThatShareTheBatchTrainTheRunOfOneThatAccumulatesItsParts) {
  expect_same(trained("halves", {"model.dropout=0", "train.batch=8", "train.accumulate=2"}),
              trained("two", {"model.dropout=0", "train.batch=16", "train.processes=2"}));
}

TEST_F(Processes, ClipAverageAndWatchAsOneDoes) {
  std::vector<std::string> alone = {
      "model.dropout=0",           "train.clip=0.5",        "average.decay=0.9",   "watch.chatter=5",
      "data.validation_images=40", "data.train_images=288", "optimizer.name=adamw"};
  auto two = alone;
  alone.insert(alone.end(), {"train.batch=8", "train.accumulate=2"});
  two.emplace_back("train.processes=2");
  const auto a = trained("alone", alone);
  const auto b = trained("two", two);
  for (const char* const number : {"loss", "chatter", "flips", "validation_accuracy", "test_accuracy"})
    EXPECT_EQ(largest_difference(a, b, number), 0) << number;
  EXPECT_TRUE(weights_of(a) == weights_of(b));  // the averages
}

TEST_F(Processes, SomeMayHaveNoImages) {
  // The last batch of an epoch has one image, and every batch is smaller than three.
  const std::vector<std::string> sets = {"model.dropout=0", "data.train_images=21", "train.batch=2",
                                         "train.epochs=1"};
  auto three = sets;
  three.push_back("train.processes=3");
  auto alone = sets;
  alone.insert(alone.end(), {"train.batch=1", "train.accumulate=2"});
  EXPECT_LT(largest_difference(trained("alone", alone), trained("three", three), "loss", 5), 1e-6);
}

/// Two classes of 32-pixel PNG files, `each` of them; all alike where `variety` is 0.
void write_images(const fs::path& folder, int each, unsigned variety) {
  for (const std::string part : {"train", "val"})
    for (const unsigned kind : {0u, 1u})
      for (int i = 0; i < each; ++i) {
        const auto file = folder / part / std::to_string(kind) / (std::to_string(100 + i) + ".png");
        fs::create_directories(file.parent_path());
        const auto bytes = data::samples::write_png(
            {.width = 32, .height = 32}, [&](std::size_t x, std::size_t y, std::size_t c) {
              return (static_cast<unsigned>(x * 7 + y + c) +
                      variety * (kind * 50 + static_cast<unsigned>(i))) &
                     255u;
            });
        write_text(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      }
}

class ProcessesWithFiles : public Processes {
 protected:
  void SetUp() override {
#ifndef SADAM_HAVE_PNG
    GTEST_SKIP() << "built without libpng";
#endif
  }
};

// Of images that are all alike the ranks would have the same losses, however many there are.
TEST_F(ProcessesWithFiles, MasksDifferBetweenThem) {
  write_images(folder_.path() / "pets", 30, 0);
  // One of another class, as there must be; it does not come first.
  for (int i = 1; i < 30; ++i)
    fs::remove(folder_.path() / "pets/train/1" / (std::to_string(100 + i) + ".png"));
  const auto first_loss = [&](const std::string& count) {
    const auto done =
        trained(count, {"data.name=folder:" + (folder_.path() / "pets").string(), "model.dropout=0.5",
                        "train.epochs=1", "data.train_images=0", "data.test_images=0", "train.batch=" + count,
                        "train.processes=" + count});
    const auto events = events_in(done);
    return events.empty() ? 0 : events.front()["loss"].get<double>();
  };
  EXPECT_NE(first_loss("2"), first_loss("3"));
}

TEST_F(Processes, ARunGoesOnWithAnyNumberOfThem) {
  const std::vector<std::string> shared = {"train.split=probes"};
  const auto whole = trained("whole", shared);
  for (const auto& [first, second] : {std::pair("1", "2"), std::pair("2", "1")}) {
    const std::string name = std::string("from") + first;
    Background begun(training(name, {"train.split=probes", std::string("train.processes=") + first}),
                     kByExec);
    ASSERT_TRUE(has_steps(name, 5));
    begun.signal(SIGINT);
    const auto ended = begun.wait();
    EXPECT_EQ(ended.status, 130) << ended.err;
    EXPECT_TRUE(says(ended.err, "Stopped and saved"));
    expect_same(whole, resumed(name, {std::string("train.processes=") + second}));
    EXPECT_TRUE(says(text_of_file(run(name) / "run.toml"), std::string("processes = ") + second));
  }
}

// With masks of their own.
TEST_F(Processes, AnyOfThemMayBeToldToStopAndTheRunGoesOnBitForBit) {
  Background begun(training("stopped", of_two()), kByExec);
  ASSERT_TRUE(has_steps("stopped", 5));
  const auto others = children_of(begun.process());
  ASSERT_EQ(others.size(), 1u);
  ::kill(others.front(), SIGTERM);
  const auto ended = begun.wait();
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_FALSE(is_there(others.front()));
  expect_same(undisturbed(), resumed("stopped"));
}

TEST_F(Processes, KilledAtRandomMomentsTheRunEndsAsOneThatWasNot) { expect_to_survive_kills(4); }

/// What a shell command prints.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(("PATH=$PATH:/usr/sbin:/sbin; " + command).c_str(), "r");
  for (int letter = 0; pipe != nullptr && (letter = std::fgetc(pipe)) != EOF;)
    text += static_cast<char>(letter);
  if (pipe != nullptr) ::pclose(pipe);
  return text;
}

/// Packets that the loopback has lost.
int packets_lost() {
  const auto text = output_of("tc -s qdisc show dev lo");
  const auto at = text.find("dropped ");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + std::strlen("dropped "));
}

// Where the kernel has no netem, a line that is too slow, with a short queue, delays and loses as well.
TEST_F(Processes, OnANetworkThatDelaysAndLosesTheyDoSoToo) {
  undisturbed();
  const int before = ::open("/proc/self/ns/net", O_RDONLY);
  if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "network namespaces are for root";
  const bool is_bad =
      !output_of(
           "ip link set lo up mtu 1500 && (tc qdisc add dev lo root netem delay 2ms 1ms loss 1% || "
           "tc qdisc add dev lo root tbf rate 200mbit burst 4kb latency 2ms) 2> /dev/null && echo yes")
           .empty();
  if (is_bad) {
    expect_to_survive_kills(2);
    EXPECT_GT(packets_lost(), 0);
  }
  ASSERT_EQ(::setns(before, CLONE_NEWNET), 0);
  ::close(before);
  if (!is_bad) GTEST_SKIP() << "tc cannot make the network worse: iproute2 and netem or tbf are needed";
}

TEST_F(Processes, OneThatHangsIsNamedInTimeAndNothingIsLost) {
  Background program(training("hung", of_two()), {{"SADAM_RANK_TIMEOUT=2"}, {}});
  ASSERT_TRUE(has_steps("hung", 8));
  const auto others = children_of(program.process());
  ASSERT_EQ(others.size(), 1u);
  ::kill(others[0], SIGSTOP);
  const auto began = std::chrono::steady_clock::now();
  const auto ended = program.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(says(ended.err, "rank 0 of 2 gave up, because nothing is heard of rank 1"));
  EXPECT_FALSE(is_there(others[0]));
  expect_same(undisturbed(), resumed("hung"));
}

TEST_F(ProcessesWithFiles, WhatOneOfThemSaysIsSaid) {
  // Rank 1 evaluates the second batch, and with it the damaged image.
  write_images(folder_.path() / "pets", 20, 1);
  write_text(folder_.path() / "pets/val/1/118.png", "no picture");
  const std::vector<std::string> sets = {"data.name=folder:" + (folder_.path() / "pets").string(),
                                         "data.train_images=0", "data.test_images=0", "train.processes=2",
                                         "train.epochs=1"};
  const auto ended = execute_program(training("bad", sets));
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  EXPECT_TRUE(says(ended.err, "sadam: rank 1 of 2: "));
  EXPECT_TRUE(says(ended.err, "118.png"));
}

std::vector<std::vector<std::string>> with_port(std::vector<std::vector<std::string>> ranks) {
  const auto port = "MASTER_PORT=" + std::to_string(free_port());
  for (auto& rank : ranks) rank.insert(rank.end(), {port, "MASTER_ADDR=127.0.0.1"});
  return ranks;
}

const std::vector<std::vector<std::string>> kTorch = {{"RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2"},
                                                      {"RANK=1", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2"}};

TEST_F(Processes, UnderLaunchersTheyTrainTheSameRun) {
  const auto mpi = launched(with_port({{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2"},
                                       {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}}),
                            training("mpi", {"train.processes=4", "train.epochs=3"}), kByExec);
  for (const auto& ended : mpi) EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(mpi[0].err, "The recipe has train.processes = 4, and the launcher started 2, which train.\n");
  EXPECT_EQ(mpi[0].out, run("mpi").string() + "\n");
  EXPECT_EQ(mpi[1].out + mpi[1].err, "");  // rank 0 alone speaks
  expect_same(undisturbed(), run("mpi"));
}

TEST_F(Processes, TorchrunStartsThemAndStartsThemAgain) {
  if (!fs::exists("/usr/lib/python3/dist-packages/torch/distributed/run.py"))
    GTEST_SKIP() << "there is no torchrun: install python3-torch";
  const auto logs = folder_.path() / "logs";
  auto command =
      "/usr/bin/python3 -m torch.distributed.run --nproc_per_node 2 --max_restarts 1 --master_port " +
      std::to_string(free_port()) + " -r 1 -t 1 --log_dir " + logs.string() +
      " --monitor_interval 1 --no_python " + std::getenv("SADAM_PROGRAM");
  for (const auto& word : training("torch", {"train.epochs=3"})) command += " " + word;
  command += " > " + (folder_.path() / "said").string() + " 2>&1";
  int status = -1;
  std::thread launcher([&] { status = std::system(command.c_str()); });
  // Rank 1 is killed; torchrun starts the same command again.
  EXPECT_TRUE(has_steps("torch", 5));
  bool is_killed = false;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int number = std::atoi(entry.path().filename().c_str());
    if (number == 0 || !says(text_of_file(entry.path() / "cmdline"), folder_.path().string()) ||
        !says(text_of_file(entry.path() / "environ"), "LOCAL_RANK=1"))
      continue;
    ::kill(number, SIGKILL);
    is_killed = true;
  }
  launcher.join();
  EXPECT_TRUE(is_killed);
  EXPECT_EQ(status, 0) << text_of_file(folder_.path() / "said");
  expect_same(undisturbed(), run("torch"));
}

TEST_F(Processes, WithAnotherRecipeAreRefused) {
  std::vector<Background> started;
  const auto ranks = with_port(kTorch);
  started.emplace_back(training("same", {"seed=1"}), Background::Surroundings{ranks[0], {}}, kByFork);
  started.emplace_back(training("same", {"seed=2"}), Background::Surroundings{ranks[1], {}}, kByFork);
  for (auto& process : started) {
    const auto ended = process.wait();
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.err,
              "sadam: rank 1 has another command line or recipe than rank 0: give all the same.\n");
  }
  EXPECT_FALSE(fs::exists(run("same")));
}

TEST_F(ProcessesWithFiles, WithOtherDataAreRefused) {
  std::vector<Background> started;
  const auto ranks = with_port(kTorch);
  for (const std::size_t rank : {0, 1}) {
    const auto machine = folder_.path() / ("machine" + std::to_string(rank));
    write_images(machine / "pets", 2, 1 + static_cast<unsigned>(rank));
    started.emplace_back(
        training("pets", {"data.name=folder:pets", "data.train_images=0", "data.test_images=0"}),
        Background::Surroundings{ranks[rank], machine}, kByFork);
  }
  for (auto& process : started) {
    const auto ended = process.wait();
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.err, "sadam: rank 1 has other data than rank 0: put the same on every machine.\n");
  }
  EXPECT_FALSE(fs::exists(run("pets")));
}

TEST_F(Processes, ThatDoNotComeOrCannotMeetAreNamed) {
  auto alone = with_port(kTorch)[0];
  alone.emplace_back("SADAM_RANK_TIMEOUT=1");
  const auto missing = Background(training("missing"), {alone, {}}, kByFork).wait();
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(says(missing.err, "rank 0 waited 1 s for rank 1 of 2"));
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  auto taken = kTorch[0];
  taken.insert(taken.end(),
               {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(ntohs(address.sin_port)),
                "SADAM_RANK_TIMEOUT=1"});
  const auto in_use = Background(training("in-use"), {taken, {}}).wait();
  ::close(listener);
  EXPECT_EQ(in_use.status, 1);
  EXPECT_TRUE(says(in_use.err, "rank 0 cannot wait for the others at 127.0.0.1:"));
  EXPECT_TRUE(in_use.err.starts_with("sadam: ")) << "what torch logs stands before it:\n" << in_use.err;
  EXPECT_FALSE(fs::exists(run("missing")) || fs::exists(run("in-use")));
}

TEST_F(Processes, WhatRankZeroCannotBeginAllEnd) {
  fs::copy(undisturbed(), run("there"), fs::copy_options::recursive);
  const auto ended = launched(with_port(kTorch), training("there"), kByFork);
  EXPECT_EQ(ended[0].status, 1);
  EXPECT_TRUE(says(ended[0].err, "there is a run in"));
  EXPECT_EQ(ended[1].err, "sadam: rank 0 of 2 could not begin the run: look at what that process says.\n");
  // A run that is finished is no failure.
  Arguments resume = {"train", "--resume", run("there").string(), "--quiet"};
  for (const auto& finished : launched(with_port(kTorch), resume, kByFork))
    EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(Processes, WhatTheyCannotDoTogetherIsRefusedAtTheStart) {
  const auto refusal = [&](const std::vector<std::string>& sets, const std::string& part) {
    const auto ended = run_program(training("refused", sets));
    EXPECT_EQ(ended.status, 2);
    EXPECT_TRUE(says(ended.err, part));
    EXPECT_FALSE(fs::exists(run("refused")));
  };
  refusal({"train.processes=0"}, "train.processes");
  refusal({"train.processes=2", "train.probe_images=4"}, "leave it out, or set train.split=probes");
  refusal({"train.processes=2", "train.split=probes", "optimizer.noise=fresh"},
          "use shared, or train.split=batch");
  refusal({"train.processes=16", "model.name=resnet18"}, "in batches of 16 for 16 processes leave one alone");
  const auto late =
      Background(training("refused", of_two()), {{"SADAM_RANK_TIMEOUT=soon"}, {}}, kByFork).wait();
  EXPECT_EQ(late.status, 1);
  EXPECT_TRUE(says(late.err, "sadam: SADAM_RANK_TIMEOUT is 'soon' and must be"));
  auto grid = training("grid", {"seed=1,2"});
  const auto ended = Background(grid, {with_port(kTorch)[0], {}}, kByFork).wait();
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(says(ended.err, "A grid starts its processes by itself"));
}

TEST_F(Processes, ATableHasThem) {
  const auto table = folder_.path() / "small.toml";
  write_text(table, small_table());
  const auto reproduced =
      execute_program({"reproduce", table.string(), "--processes", "2", "--controls", "shuffled", "--quiet",
                       "--root", (folder_.path() / "tables").string()});
  EXPECT_EQ(reproduced.status, 0) << reproduced.err;
  std::size_t runs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "tables")) {
    if (entry.path().filename() != "run.toml") continue;
    ++runs;
    EXPECT_TRUE(says(text_of_file(entry.path()), "processes = 2"));
  }
  EXPECT_EQ(runs, 3u);  // S-Adam, AdamW, and the control, whose brakes rank 0 tells the others
}

}  // namespace
}  // namespace sadam::cli

#include "train/record/events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sadam/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/file.h"
#include "train/record/json_fields.h"

namespace sadam::train {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Calls visit(name, member) for each field, in the order in which they are written: once for the reader and
// the writer.
template <class AnyEvent, class Visit>
void visit_fields(AnyEvent& event, Visit&& visit) {
  using Kind = std::remove_const_t<AnyEvent>;
  if constexpr (std::is_same_v<Kind, StepEvent>) {
    visit("step", event.step);
    visit("epoch", event.epoch);
    visit("loss", event.loss);
    visit("lr", event.lr);
    visit("lgi", event.lgi);
    visit("brake", event.brake);
    visit("probed", event.probed);
    visit("within_noise", event.within_noise);
    visit("skipped", event.skipped);
    visit("non_finite_probes", event.non_finite_probes);
    visit("probe_seconds", event.probe_seconds);
    visit("residual", event.residual);
    visit("group_lgi", event.group_lgi);
    visit("group_brakes", event.group_brakes);
  } else if constexpr (std::is_same_v<Kind, EpochEvent>) {
    visit("epoch", event.epoch);
    visit("step", event.step);
    visit("train_loss", event.train_loss);
    visit("test_loss", event.test_loss);
    visit("test_accuracy", event.test_accuracy);
    visit("mean_lgi", event.mean_lgi);
    visit("mean_brake", event.mean_brake);
    visit("train_seconds", event.train_seconds);
    visit("evaluate_seconds", event.evaluate_seconds);
    visit("peak_memory", event.peak_memory);
    visit("validation_loss", event.validation_loss);
    visit("validation_accuracy", event.validation_accuracy);
  } else if constexpr (std::is_same_v<Kind, ChatterEvent>) {
    visit("step", event.step);
    visit("window", event.window);
    visit("chatter", event.chatter);
    visit("flips", event.flips);
  } else if constexpr (std::is_same_v<Kind, RegimeEvent>) {
    visit("step", event.step);
    visit("quantity", event.quantity);
    visit("before", event.before);
    visit("after", event.after);
    visit("score", event.score);
  } else {
    static_assert(std::is_same_v<Kind, NoteEvent>);
    visit("text", event.text);
  }
}

// Reads the fields of a line in the order in which they are written, without the detour over a tree of JSON:
// ten times as fast. Whatever is not exactly as to_line() writes it is left to the reader that knows all of
// JSON.
class QuickFieldReader {
 public:
  explicit QuickFieldReader(std::string_view rest) : rest_(rest) {}

  template <class Value>
  void operator()(const char* name, Value& value) {
    if (!take_name(name)) {
      // Only these need not be there.
      ok_ =
          ok_ && (std::is_same_v<Value, std::optional<double>> || std::is_same_v<Value, std::vector<double>>);
      return;
    }
    ok_ = ok_ && take_value(value);
  }
  bool is_done() const { return ok_ && rest_ == "}"; }

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool take_name(std::string_view name) {
    const auto before = rest_;
    if (ok_ && take(",\"") && take(name) && take("\":")) return true;
    rest_ = before;
    return false;
  }

  static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
  // from_chars takes more than JSON has: 01, .5, 5., inf. And −0 is an integer of JSON's, which loses its
  // sign.
  static bool is_json(std::string_view number) {
    if (number == "-0") return false;
    if (number.starts_with('-')) number.remove_prefix(1);
    const auto digits_at = [&](std::size_t at) { return at < number.size() && is_digit(number[at]); };
    const auto point = number.find('.');
    return digits_at(0) && !(number[0] == '0' && digits_at(1)) &&
           (point == std::string_view::npos || digits_at(point + 1));
  }

  template <class Number>
  bool take_number(Number& value) {
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const auto number = rest_.substr(0, static_cast<std::size_t>(end - rest_.data()));
    rest_.remove_prefix(number.size());
    return problem == std::errc() && is_json(number);
  }
  bool take_value(std::int64_t& value) { return take_number(value); }
  bool take_value(double& value) {
    if (!take("null")) return take_number(value);
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  bool take_value(bool& value) {
    value = take("true");
    return value || take("false");
  }
  bool take_value(std::optional<double>& value) { return take_value(value.emplace()); }
  bool take_value(std::vector<double>& values) {
    if (!take("[")) return false;
    do {
      if (!take_value(values.emplace_back())) return false;
    } while (take(","));
    return take("]");
  }
  bool take_value(std::string&) { return false; }

  std::string_view rest_;
  bool ok_ = true;
};

template <class Kind>
bool read_quickly(std::string_view line, Kind& event) {
  static const auto beginning = fmt::format(R"({{"event":"{}")", Kind::kName);
  if (!line.starts_with(beginning)) return false;
  QuickFieldReader reader(line.substr(beginning.size()));
  visit_fields(event, reader);
  return reader.is_done();
}

template <class... Kinds>
std::optional<Event> event_called(const std::string& name, const JsonFieldReader& read,
                                  std::variant<Kinds...>* /*of these*/) {
  std::optional<Event> event;
  const auto try_kind = [&]<class Kind>(Kind kind) {
    if (name != Kind::kName) return;
    visit_fields(kind, read);
    event = std::move(kind);
  };
  (try_kind(Kinds()), ...);
  return event;
}

}  // namespace

std::optional<Event> read_event(std::string_view line, std::size_t number) {
  // Nearly all lines of a long run are steps.
  if (StepEvent step; read_quickly(line, step)) return step;
  try {
    const auto object = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (!object.is_object()) throw Error("it is no JSON object");
    std::string name;
    const JsonFieldReader read(object);
    read("event", name);
    return event_called(name, read, static_cast<Event*>(nullptr));
  } catch (const Error& error) {
    throw Error(fmt::format("line {} is not an event: {}: the file is damaged or another one.", number,
                            error.what()));
  }
}

std::string to_line(const Event& event) {
  OrderedJson json;
  std::visit(
      [&]<class Kind>(const Kind& kind) {
        json["event"] = Kind::kName;
        visit_fields(kind, JsonFieldWriter(json));
      },
      event);
  // Bytes of a note that are not UTF-8 become U+FFFD: a run does not end over a message.
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

void EventFile::add(Event event) {
  static_assert(std::variant_size_v<Event> == 5, "each kind has its list");
  if (auto* const step = std::get_if<StepEvent>(&event)) steps.push_back(std::move(*step));
  if (auto* const epoch = std::get_if<EpochEvent>(&event)) epochs.push_back(*epoch);
  if (auto* const window = std::get_if<ChatterEvent>(&event)) chatter.push_back(*window);
  if (auto* const regime = std::get_if<RegimeEvent>(&event)) regimes.push_back(std::move(*regime));
  if (auto* const note = std::get_if<NoteEvent>(&event)) notes.push_back(std::move(*note));
}

EventFile read_events(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EventFile file;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto length = text.find('\n');
    if (length == std::string_view::npos) {
      file.cut_line = number;
      break;
    }
    if (auto event = read_event(text.substr(0, length), number)) file.add(std::move(*event));
    text.remove_prefix(length + 1);
  }
  return file;
}

EventFile read_events(const std::filesystem::path& path) {
  const auto bytes = base::read_file(path);
  return base::naming(path, [&] { return read_events(std::span(bytes)); });
}

// ---- while it grows ---------------------------------------------------------------------------------------

namespace {

// Longer than the line of any event; what goes on for longer is garbage and is not kept.
constexpr std::size_t kLongestLine = 1 << 20;
// Two runs of one recipe write the same lines but for their seconds, which are in every step's.
constexpr std::size_t kRemembered = 512;

// How many bytes were there; fewer than asked for at the end of the file.
std::size_t read_at(int file, std::uint64_t offset, char* to, std::size_t bytes,
                    const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < bytes) {
    const auto got = ::pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw base::failure("read", path, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

void EventTail::read(const std::function<void(const Event&)>& visit, const std::function<void()>& restart) {
  const auto start_anew = [&] {
    if (offset_ > 0) restart();
    *this = EventTail(std::move(path_));
  };
  // Not a pipe, which would be waited for.
  const base::Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) {
    const int code = errno;
    start_anew();
    if (code == ENOENT || code == ENOTDIR) return;
    throw base::failure("open", path_, code);
  }
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) throw base::failure("read", path_, errno);
  if (!S_ISREG(about.st_mode)) {
    start_anew();
    throw Error(fmt::format("{} is no file: move it away.", path_.string()));
  }
  if (!goes_on(file.number(), about.st_dev, about.st_ino, static_cast<std::uint64_t>(about.st_size)))
    start_anew();
  device_ = about.st_dev;
  inode_ = about.st_ino;

  std::string buffer(kLongestLine, '\0');
  for (;;) {
    const auto got = read_at(file.number(), offset_, buffer.data(), buffer.size(), path_);
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), got);
    offset_ += got;
    last_.append(bytes.substr(got - std::min(got, kRemembered)));
    if (last_.size() > kRemembered) last_.erase(0, last_.size() - kRemembered);
    take(bytes, visit);
    if (got < buffer.size()) break;
  }
}

bool EventTail::goes_on(int file, std::uint64_t device, std::uint64_t inode, std::uint64_t size) const {
  if (offset_ == 0) return true;
  if (device != device_ || inode != inode_ || size < offset_) return false;
  std::string there(last_.size(), '\0');
  return read_at(file, offset_ - last_.size(), there.data(), there.size(), path_) == there.size() &&
         there == last_;
}

void EventTail::take(std::string_view bytes, const std::function<void(const Event&)>& visit) {
  while (!bytes.empty()) {
    const auto length = bytes.find('\n');
    const auto part = bytes.substr(0, length);
    if (!skipping_ && rest_.size() + part.size() > kLongestLine) {
      skipping_ = true;
      rest_.clear();
    }
    if (length == std::string_view::npos) {
      if (!skipping_) rest_.append(part);
      return;
    }
    if (std::exchange(skipping_, false)) {
      note_broken(fmt::format("line {} is too long: the file is damaged or another one.", lines_ + 1));
    } else if (rest_.empty()) {
      take_line(part, visit);
    } else {
      rest_.append(part);
      take_line(rest_, visit);
    }
    rest_.clear();
    ++lines_;
    bytes.remove_prefix(length + 1);
  }
}

void EventTail::take_line(std::string_view line, const std::function<void(const Event&)>& visit) {
  std::optional<Event> event;
  try {
    event = read_event(line, lines_ + 1);
  } catch (const Error& error) {
    return note_broken(error.what());
  }
  if (event) visit(*event);
}

void EventTail::note_broken(const std::string& problem) {
  if (broken_lines_++ == 0) problem_ = fmt::format("{}: {}", path_.string(), problem);
}

// ---- what epochs and steps say ----------------------------------------------------------------------------

namespace {

template <class Accuracy>
const EpochEvent* best_by(const std::vector<EpochEvent>& epochs, const Accuracy& accuracy) {
  const EpochEvent* best = nullptr;
  for (const auto& epoch : epochs)  // a NaN is never the best
    if (accuracy(epoch) > (best == nullptr ? -1 : accuracy(*best))) best = &epoch;
  return best;
}

}  // namespace

const EpochEvent* best_of(const std::vector<EpochEvent>& epochs) {
  return best_by(epochs, [](const EpochEvent& epoch) { return epoch.test_accuracy; });
}

const EpochEvent* best_validated(const std::vector<EpochEvent>& epochs) {
  return best_by(epochs, [](const EpochEvent& epoch) { return epoch.validation_accuracy.value_or(-1); });
}

const EpochEvent* epoch_to_keep(const std::vector<EpochEvent>& epochs) {
  const auto* const validated = best_validated(epochs);
  return validated != nullptr ? validated : best_of(epochs);
}

void StepCounts::add(const StepEvent& step) {
  ++steps;
  if (step.skipped) ++skipped;
  if (step.probed) ++probed;
  if (step.within_noise) ++within_noise;
  non_finite_probes += step.non_finite_probes;
}

std::vector<std::string> sentences(const StepCounts& run) {
  std::vector<std::string> list;
  if (run.skipped > 0)
    list.push_back(
        fmt::format("{} of {} steps were skipped, because the loss or the gradient was not finite.",
                    run.skipped, run.steps));
  if (run.non_finite_probes > 0)
    list.push_back(
        fmt::format("{} probes had a loss that was not finite, and ρ was set to its largest value there.",
                    run.non_finite_probes));
  if (run.within_noise > 0)
    list.push_back(
        fmt::format("In {} of {} probed steps the probes differed from the loss by no more than rounding: ρ "
                    "is noise there.",
                    run.within_noise, run.probed));
  return list;
}

std::string divergence(const EpochEvent& last, const StepCounts& last_epoch) {
  // No classifier that learns has a cross-entropy like this: guessing among a million classes has 14.
  constexpr double kBeyondReason = 1000;
  std::string why;
  if (last_epoch.steps > 0 && last_epoch.skipped == last_epoch.steps)
    why = "every step of the last epoch was skipped";
  else if (!std::isfinite(last.train_loss))
    why = "the training loss of the last epoch is not finite";
  else if (!std::isfinite(last.test_loss))
    why = "the test loss after the last epoch is not finite";
  else if (std::max(last.train_loss, last.test_loss) > kBeyondReason)
    why = fmt::format("the loss of the last epoch is {:.1e}", std::max(last.train_loss, last.test_loss));
  return why.empty() ? "" : fmt::format("Training diverged: {}; try a smaller optimizer.lr.", why);
}

}  // namespace sadam::train

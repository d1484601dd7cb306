// What launchers tell the processes that they start.
#include <sadam/process_group.h>

#include <cstdlib>
#include <limits>

namespace sadam {
namespace {

std::optional<std::string> text_of(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<int> number_of(const char* name, int least = 0) {
  const auto text = text_of(name);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text->c_str(), &end, 10);
  if (*end != '\0' || value < least || value > std::numeric_limits<int>::max())
    throw Error(std::string(name) + " is '" + *text + "' and must be a whole number, at least " +
                std::to_string(least) + ": correct it, or unset it.");
  return static_cast<int>(value);
}

/// The first of "node[03-06,09],other": "node03".
std::string first_node(const std::string& list) {
  std::string node;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      node += list[i];
      continue;
    }
    const auto end = list.find_first_of(",-]", i + 1);
    node += list.substr(i + 1, end - i - 1);
    i = list.find(']', i);
    if (i == std::string::npos) break;
  }
  return node;
}

/// The names of a launcher's variables; those of one machine may be null.
struct Launcher {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

constexpr Launcher kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Launcher kOpenMpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Launcher kMpich{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
/// Not SLURM_NTASKS: a batch script has it too, and is one process whatever its job asks for.
constexpr Launcher kSlurm{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};

/// How many of "2(x3),1" a node has, counted from 0.
int tasks_on(int node, const std::string& list) {
  const char* at = list.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const auto tasks = std::strtol(at, &end, 10);
    if (end == at) break;
    long nodes = 1;
    if (end[0] == '(' && end[1] == 'x') {
      nodes = std::strtol(end + 2, &end, 10);
      if (*end == ')') ++end;
    }
    if (node < nodes) return static_cast<int>(tasks);
    node -= static_cast<int>(nodes);
    at = *end == ',' ? end + 1 : end;
  }
  return 1;
}

std::optional<RankOptions> from(const Launcher& launcher) {
  const auto rank = number_of(launcher.rank);
  const auto size = number_of(launcher.size, 1);
  if (&launcher == &kTorchrun && rank.has_value() != size.has_value())
    throw Error(std::string(rank ? launcher.rank : launcher.size) + " is set and " +
                (rank ? launcher.size : launcher.rank) +
                " is not: set both, as torchrun does, or unset it to train with one process.");
  if (!rank || !size) return std::nullopt;
  if (*rank >= *size)
    throw Error(std::string(launcher.rank) + " is " + std::to_string(*rank) + " and " + launcher.size + " " +
                std::to_string(*size) + ": ranks go from 0 to the size - 1.");
  auto options = RankOptions().rank(*rank).size(*size);
  options.local_rank(number_of(launcher.local_rank).value_or(0));
  if (launcher.local_size != nullptr) options.local_size(number_of(launcher.local_size, 1).value_or(1));
  return options;
}

/// Where torchrun keeps a store, it keeps it through all its attempts to run the job.
void meet_as_torchrun_says(RankOptions& options) {
  const auto agent = text_of("TORCHELASTIC_USE_AGENT_STORE").value_or("");
  options.store_is_there(agent == "True" || agent == "true" || agent == "1");
  if (options.store_is_there())
    options.prefix("sadam/" + text_of("TORCHELASTIC_RUN_ID").value_or("") + "/" +
                   text_of("TORCHELASTIC_RESTART_COUNT").value_or("0"));
}

/// A port that other jobs on the machine are unlikely to have.
void meet_as_slurm_says(RankOptions& options) {
  const auto nodes = text_of("SLURM_STEP_NODELIST");
  options.host(first_node(nodes ? *nodes : text_of("SLURM_JOB_NODELIST").value_or("localhost")));
  constexpr int kFirst = 15000;
  constexpr int kCount = 15000;
  // Each step of a job has a store of its own.
  const auto step = number_of("SLURM_STEP_ID").value_or(0);
  options.port(kFirst + (number_of("SLURM_JOB_ID").value_or(0) % kCount + step) % kCount);
  options.local_size(
      tasks_on(number_of("SLURM_NODEID").value_or(0), text_of("SLURM_STEP_TASKS_PER_NODE").value_or("1")));
}

void check_machines(const RankOptions& options) {
  if (options.local_size() < options.size() && !text_of("MASTER_ADDR"))
    throw Error(
        "mpirun has started ranks on several machines and does not say where rank 0 is: set MASTER_ADDR to "
        "the name of that machine on all of them (mpirun -x MASTER_ADDR=...).");
}

}  // namespace

std::optional<RankOptions> RankOptions::from_environment() {
  // Under Slurm both torchrun and mpirun may have started this process: what is nearer counts.
  std::optional<RankOptions> options;
  if ((options = from(kTorchrun))) {
    meet_as_torchrun_says(*options);
  } else if ((options = from(kOpenMpi)) ||
             (text_of(kMpich.local_rank) && (options = from(kMpich)))) {  // srun may set the rest
    check_machines(*options);
  } else if ((options = from(kSlurm))) {
    meet_as_slurm_says(*options);
  }
  if (!options) return std::nullopt;
  if (const auto host = text_of("MASTER_ADDR")) options->host(*host);
  if (const auto port = number_of("MASTER_PORT", 1)) options->port(*port);
  options->timeout_from_environment();
  return options;
}

RankOptions& RankOptions::timeout_from_environment() {
  if (const auto seconds = number_of("SADAM_RANK_TIMEOUT", 1)) timeout(std::chrono::seconds(*seconds));
  return *this;
}

}  // namespace sadam

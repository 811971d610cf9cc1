// The daemon's API, independent of transport: requests in, responses out, no sockets.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/daemon/event_totals.hpp"
#include "launcher/daemon/run_watch.hpp"
#include "launcher/daemon/store.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

struct ApiRequest {
  std::string method;
  std::string path;  // percent-decoded
  std::map<std::string, std::string> query = {};
};

struct ApiAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// The daemon itself, for GET /v1/daemon.
struct DaemonFacts {
  double began_s = 0;
  std::string host = {};
  int port = -1;  // on 127.0.0.1; -1: none
  double interval_s = 0;
};

class Api {
 public:
  struct Hooks {
    std::function<std::shared_ptr<const Snapshot>()> snapshot;
    std::function<void()> wake;  // called when a request is stored
    std::function<void()> stop;
    std::function<double()> now_s;
    /// Whether a run's folder is accessible; its file system may hang.
    std::function<bool(const std::string&)> answers = [](const std::string&) { return true; };
  };
  Api(System& system, Store& store, DaemonFacts facts, Hooks hooks)
      : system_(system), store_(store), facts_(std::move(facts)), hooks_(std::move(hooks)) {}

  /// Thread-safe. Time and memory of a response are bounded.
  ApiAnswer answer(const ApiRequest& request);
  void set_port(int port) { facts_.port = port; }

 private:
  ApiAnswer daemon() const;
  ApiAnswer runs(const ApiRequest& request);
  ApiAnswer of_run(const ApiRequest& request, const std::vector<std::string>& segments);
  ApiAnswer one_run(const RunRecord& run, bool away);
  ApiAnswer curve(const RunRecord& run) const;
  ApiAnswer report(const RunRecord& run) const;
  ApiAnswer wish(const RunRecord& run, const std::string& what);
  ApiAnswer metrics();

  System& system_;
  Store& store_;
  DaemonFacts facts_;
  Hooks hooks_;
  EventTotals event_totals_;
};

/// Returns {"error": {"what", "hint"}} with the status for the error's kind.
ApiAnswer error_answer(const Error& error);
ApiAnswer error_answer(int status, const std::string& what);

}  // namespace dllaunch

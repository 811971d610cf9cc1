// A network in which hosts, pairs and groups are slow or cut off as asked for, and which load
// disturbs; measured by the planner as the real one is.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "launcher/links/link_verdict.hpp"
#include "launcher/links/next_order.hpp"

namespace dllaunch {

struct SimulatedNetwork {
  std::size_t hosts = 8;
  double gbit_per_s = 10;
  double us = 20;
  /// What a link has of the usual rate; 0: nothing comes through.
  std::function<double(const Pull&)> part = [](const Pull&) { return 1.0; };
  std::function<double(const Pull&)> later_us = [](const Pull&) { return 0.0; };
  std::set<std::size_t> silent = {};
  double noise = 0.05;  // of the logarithm of a rate
  double starved = 0;   // the share of measurements that get a tenth of what they should
  /// In rounds, links between hosts of different leaves share what their uplink has.
  std::size_t leaf = 1000;
  double share_of_uplink = 1;
  unsigned seed = 1;
};

struct SimulatedSurvey {
  LinkVerdict verdict = {};
  std::size_t orders = 0;
  std::size_t rounds = 0;
  LinkSurvey survey = {};
};

inline SimulatedSurvey survey_of(const SimulatedNetwork& network, std::size_t most_orders = 500) {
  std::mt19937 random(network.seed);
  std::normal_distribution<double> noise(0, network.noise);
  std::uniform_real_distribution<double> chance(0, 1);
  LinkSurvey survey{.hosts = network.hosts};
  SimulatedSurvey result;
  while (result.orders < most_orders) {
    const auto order = next_order(survey, standing_of(survey));
    if (!order) break;
    ++result.orders;
    if (order->round) ++result.rounds;
    DoneOrder done{.order = *order};
    for (const auto& pull : order->pulls) {
      if (network.silent.contains(pull.to)) {
        survey.silent.insert(pull.to);
        continue;
      }
      PulledData data{.pull = pull};
      const double part = network.silent.contains(pull.from) ? 0 : network.part(pull);
      if (part <= 0) {
        data.why = "no answer";
      } else {
        // Load only slows down.
        double rate = network.gbit_per_s * std::min(1.05, std::exp(-std::abs(noise(random))));
        if (chance(random) < network.starved) rate *= 0.1;
        if (order->round && pull.to / network.leaf != pull.from / network.leaf)
          rate *= network.share_of_uplink;
        data.gbit_per_s = std::min(rate, network.gbit_per_s * part);
        data.us = (network.us + network.later_us(pull)) * std::exp(std::abs(noise(random)));
      }
      done.pulled.push_back(std::move(data));
    }
    survey.done.push_back(std::move(done));
  }
  result.verdict = judge_links(survey);
  result.survey = std::move(survey);
  return result;
}

/// "host 3: sends", "pair 1-5: sends, receives", "group 4,5,6,7: sends, receives", "silent 2".
inline std::string words_of(const LinkVerdict& verdict) {
  std::string text;
  const auto list = [](const std::vector<std::size_t>& hosts) {
    std::string all;
    for (const auto host : hosts) all += (all.empty() ? "" : ",") + std::to_string(host);
    return all;
  };
  const auto add = [&text](const std::string& words) {
    text += (text.empty() ? "" : "; ") + words;
  };
  for (const auto& link : verdict.slow) {
    std::string words = link.kind == SlowKind::host   ? "host " + list(link.a)
                        : link.kind == SlowKind::pair ? "pair " + list(link.a) + "-" + list(link.b)
                                                      : "group " + list(link.a);
    if (link.sends.slow) words += " sends";
    if (link.receives.slow) words += " receives";
    add(words);
  }
  for (const auto& link : verdict.unsure) add("unsure " + list(link.a));
  for (const auto host : verdict.silent) add("silent " + std::to_string(host));
  for (const auto host : verdict.cut_off) add("cut off " + std::to_string(host));
  return text;
}

}  // namespace dllaunch

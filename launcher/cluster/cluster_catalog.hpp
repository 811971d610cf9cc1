// Which cluster profiles there are: those built in, and the user's own, whose file of the same name
// wins.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/facts.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

struct EmbeddedProfile {
  std::string_view name;
  std::string_view text;
};

/// templates/clusters/*.yaml, by name. Written by the build.
std::span<const EmbeddedProfile> embedded_cluster_profiles();

/// A profile's file, not yet read as one.
struct ProfileText {
  std::string name = {};  // of the file, without .yaml
  std::string file = {};  // its path, or "built in"
  std::string text = {};
};

/// $XDG_CONFIG_HOME/dllaunch/clusters, else $HOME/.config/dllaunch/clusters; nothing without
/// either.
std::optional<std::string> own_profiles_folder(System& system);

/// By name. `own`: the user's too.
std::vector<ProfileText> profile_texts(System& system, bool own = true);

/// `name` is a profile's, or the path of a file that ends in .yaml. Every problem of the file is
/// noted. bad_request: no such profile (with the nearest name), or how many problems it has.
Result<ClusterProfile> find_profile(System& system, const std::string& name);

/// Every profile that can be read; what is wrong with the others is noted in a line each.
std::vector<ClusterProfile> read_profiles(System& system, bool own = true);

/// The profiles that recognise() may choose for these facts, and of the built-in ones no others: to
/// read them all takes longer than the rest of a plan.
std::vector<ClusterProfile> read_candidates(System& system, const Facts& facts, bool own = true);

/// "it calls itself lumi and has partition standard-g"; empty where it is another cluster, or
/// nobody can tell. Pure, as is recognise().
std::string recognised_by(const ClusterProfile& profile, const Facts& facts);

/// alike: by one sign at least, or the profile names none. other: the cluster's name, of which the
/// profile is sure, is another one. unknown: no sign fits, and none tells it apart for sure.
enum class ProfileMatch { alike, unknown, other };

/// Whether the Slurm of these facts may be that of a profile which the user named: that takes less
/// than to guess it. Pure.
ProfileMatch profile_match(const ClusterProfile& profile, const Facts& facts);

/// "it calls itself 'home', it has no partition standard-g": why it does not look like it.
std::string unlike_words(const ClusterProfile& profile, const Facts& facts);

/// The profile of the cluster that the facts are of; nothing where none fits or two fit alike.
const ClusterProfile* recognise(std::span<const ClusterProfile> profiles, const Facts& facts);

}  // namespace dllaunch

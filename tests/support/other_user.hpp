// An ordinary user in a test that root runs: permissions do not restrict root.
#pragma once

#include <unistd.h>

namespace dllaunch {

/// During its lifetime this process opens files as `nobody`; without root, as its own user.
class OtherUser {
 public:
  OtherUser() : was_(geteuid()) {
    constexpr uid_t nobody = 65534;
    if (was_ == 0) changed_ = seteuid(nobody) == 0;
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;
  ~OtherUser() {
    if (changed_ && seteuid(was_) != 0) _exit(1);
  }

 private:
  uid_t was_;
  bool changed_ = false;
};

}  // namespace dllaunch

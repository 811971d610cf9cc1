#include "launcher/provenance/provenance.hpp"

#include <algorithm>
#include <utility>

#include "launcher/os/stored_json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {

template <typename Field>
void visit_fields(Field& field, CodeState& code) {
  field("folder", code.folder);
  field("revision", code.revision);
  field("branch", code.branch);
  field("dirty", code.dirty);
  field.unless_empty("why", code.why);
  field.unless_empty("diff_bytes", code.diff_bytes);
  field.unless_empty("diff_note", code.diff_note);
}

template <typename Field>
void visit_fields(Field& field, PythonState& python) {
  field("program", python.program);
  field("version", python.version);
  field("packages", python.packages);
  field.unless_empty("why", python.why);
}

template <typename Field>
void visit_fields(Field& field, SubmissionRecord& one) {
  field("time", one.time_s);
  field("host", one.host);
  field("dllaunch", one.dllaunch);
  field("job_file", one.job_file);
  field("sets", one.sets);
  field("code", one.code);
  field("variables", one.variables);
  field("left_out", one.left_out);
  field("versions", one.versions);
  field("python", one.python);
  field("seeds", one.seeds);
}

template <typename Field>
void visit_fields(Field& field, Provenance& all) {
  field("submissions", all.submissions);
  field("earlier", within(all.earlier, 0, std::int64_t{1} << 40));
}

namespace {

void keep_newest(Provenance& all) {
  const auto most = Provenance::most_submissions;
  if (all.submissions.size() <= most) return;
  const auto surplus = static_cast<std::ptrdiff_t>(all.submissions.size() - most);
  all.submissions.erase(all.submissions.begin(), all.submissions.begin() + surplus);
  all.earlier += surplus;
}

}  // namespace

Provenance with_submission(Provenance all, SubmissionRecord newest) {
  all.submissions.push_back(std::move(newest));
  keep_newest(all);
  return all;
}

std::string provenance_text(const Provenance& all) {
  return json_text(write_fields(all));
}

Result<Provenance> provenance_in(std::string_view text) {
  const auto document = json_object_in(text);
  if (!document.is_object() || !value_at<Json>(document, "submissions").is_array())
    return Error{ErrorKind::bad_request, "provenance.json is damaged",
                 "remove it; the next start of the run writes a new one"};
  auto all = read_what_fits<Provenance>(document);
  keep_newest(all);
  return all;
}

}  // namespace dllaunch

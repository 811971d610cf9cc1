// A study as a page and as pictures. Pure.
#pragma once

#include "launcher/drawing/line_chart.hpp"
#include "launcher/drawing/page.hpp"
#include "launcher/study/study.hpp"

namespace dllaunch {

/// Throughput (or the value) and efficiency by ranks: measured with the extent of the repeats,
/// ideal, and predicted with its band.
LineChart value_chart(const Study& study, const StudyResult& result);
LineChart efficiency_chart(const Study& study, const StudyResult& result);

/// `dir`: the study's directory, for the reader.
Page study_page(const Study& study, const StudyResult& result, const std::string& dir);

}  // namespace dllaunch

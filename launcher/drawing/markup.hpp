// Foreign text as HTML and SVG: names of runs, log lines and keys of job files never become markup.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// One line of text, for the content of an element and for a quoted attribute. Control characters
/// and invalid UTF-8 become visible (base/utf8.hpp): no browser could show them.
std::string markup(std::string_view line);

/// The same for several lines, which stay apart.
std::string markup_lines(std::string_view text);

/// An element of HTML or SVG: "<td class=\"x\">content</td>". `content` is markup already.
std::string element(std::string_view tag, std::string_view attributes, std::string_view content);

/// A coordinate of a drawing, rounded to a tenth: "12", "12.5". 0 if it is not finite.
std::string coordinate(double value);

}  // namespace dllaunch

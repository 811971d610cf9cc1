// What all drawings share: their width, their text, their frame.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// Units of a drawing. At 480 wide, text is legible on a telephone, and two drawings stand side by
/// side on a screen.
constexpr double svg_width = 480;
constexpr double svg_line = 17;     // from one line of text to the next
constexpr double svg_letter = 6.7;  // the average width of a character
constexpr int svg_colors = 8;       // --s0 to --s7 and --h0 to --h7 of templates/report.css

/// Text at its baseline. `anchor`: start, middle or end.
std::string svg_text(double x, double y, std::string_view anchor, std::string_view words);

/// A filled rectangle of a class of the style.
std::string svg_box(std::string_view kind, double x, double y, double wide, double high);

/// Text of at most `most` characters (at least 3), with ".." where it is cut.
std::string shortened(std::string_view text, int most);

/// The whole drawing: an <svg> of a class of templates/report.css, whose title screen readers say.
std::string svg_drawing(std::string_view kind, double height, std::string_view title,
                        std::string_view content);

}  // namespace dllaunch

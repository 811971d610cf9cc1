#include "launcher/drawing/page.hpp"

#include <fmt/format.h>

#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/number_table.hpp"

namespace dllaunch {

std::string html_page(const Page& page) {
  std::string contents;
  std::string body;
  for (const PageSection& section : page.sections) {
    if (section.title.empty()) {
      body += "<section>" + section.content + "</section>\n";
      continue;
    }
    const std::string title = markup(section.title);
    contents += fmt::format("<a href=\"#{}\">{}</a>\n", section.id, title);
    body += fmt::format("<section><h2 id=\"{}\">{}</h2>\n{}</section>\n", section.id, title,
                        section.content);
  }
  // A page of ours asks for nothing: where a browser knows the rule, it cannot.
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}{}</style>\n</head>\n"
      "<body>\n<header><h1>{}</h1><p>{}</p><nav>{}</nav></header>\n<main>\n{}</main>\n</body>\n"
      "</html>\n",
      markup(page.title), report_style(), drawing_style(), markup(page.title), markup(page.note),
      contents, body);
}

std::string figure(const std::string& title, const std::string& drawing,
                   const std::string& numbers) {
  return "<figure>" + element("figcaption", "", markup(title)) + drawing +
         (numbers.empty() ? "" : folded("numbers", numbers)) + "</figure>\n";
}

std::string svg_file(std::string drawing) {
  const auto end_of_tag = drawing.find('>');
  if (end_of_tag == std::string::npos) return drawing;
  drawing.insert(end_of_tag + 1,
                 fmt::format("<style>\n{}{}</style>\n", report_style(), drawing_style()));
  return R"(<?xml version="1.0" encoding="UTF-8"?>)" + ("\n" + drawing);
}

}  // namespace dllaunch

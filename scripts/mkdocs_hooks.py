"""What the site has beyond the files in docs/: pages made from tables, links to the source tree.

A warning of these hooks ends the build, as one of MkDocs does: a link to nothing, a request to another server.
"""
import logging
import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
HELP = ROOT / "tests/golden/launcher/help"
LOG = logging.getLogger("mkdocs.hooks.site")


def verbs():
    """Returns the verbs in the order of `dllaunch --help`."""
    text = (HELP / "dllaunch.txt").read_text()
    listed = re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE)
    for line in re.findall(r"^(?:Experiments|Inside a job|Set-up and help): (.*)$", text, re.MULTILINE):
        listed += line.split(", ")
    return listed


def commands_page():
    """Returns the page of all commands: what `dllaunch VERB --help` prints, held by a test."""
    page = ["# Commands", "", "What `dllaunch --help` and `dllaunch VERB --help` print.", ""]
    for name in ["dllaunch", *verbs()]:
        title = name if name == "dllaunch" else f"dllaunch {name}"
        page += [f"## {title}", "", "```text", (HELP / f"{name}.txt").read_text().rstrip(), "```", ""]
    return "\n".join(page)


def topics():
    """Returns the files with what `dllaunch help TOPIC` prints, held by a test, made from tables."""
    return sorted((HELP / "topics").glob("*.txt"))


def topic_page(path):
    """Returns the page of a topic."""
    title = path.stem.replace("-", " ").capitalize()
    head = [f"# {title}", "", f"What `dllaunch help {path.stem}` prints.", ""]
    return "\n".join([*head, "```text", path.read_text().rstrip(), "```", ""])


def ids_page():
    """Returns what `dllaunch explain` prints of every id, held by a test, kind by kind."""
    text = (HELP.parent / "explained-ids.txt").read_text()
    kinds = {}
    parts = re.split(r"^(\S+) \((.+)\)$", text, flags=re.MULTILINE)[1:]
    for name, kind, words in zip(parts[::3], parts[1::3], parts[2::3]):
        paragraphs = [" ".join(lines.split()) for lines in words.strip().split("\n\n")]
        kinds.setdefault(kind, []).append((name, paragraphs))
    page = ["# Exit codes and ids", "", "What `dllaunch explain ID` prints.", ""]
    for kind, ids in kinds.items():
        page += [f"## {kind[0].upper()}{kind[1:]}", ""]
        for name, paragraphs in ids:
            page += [f"### `{name}`", "", "\n\n".join(paragraphs).replace("*", "\\*"), ""]
    return "\n".join(page)


def decisions_page():
    """Returns the list of the design decisions."""
    page = ["# Design decisions", ""]
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        title = path.read_text().splitlines()[0].lstrip("# ")
        page.append(f"- [{title}]({path.name})")
    return "\n".join(page)


def on_files(files, config):
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    files.append(File.generated(config, "reference/ids.md", content=ids_page()))
    for path in topics():
        name = f"reference/topics/{path.stem}.md"
        files.append(File.generated(config, name, content=topic_page(path)))
    files.append(File.generated(config, "decisions/index.md", content=decisions_page()))
    return files


def on_page_markdown(markdown, page, config, files):
    """A link that leaves docs/ becomes the name of its target: the site has no source tree. In the page that a
    program prints, the name of a page, (docs/explanation/recovery.md), becomes a link. So does a command whose
    output is a page here: the source of a page has no link to what only the site has.
    """
    docs = pathlib.Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent

    def within_the_site(match):
        target = match.group(2)
        path = (folder / target).resolve()
        if path == docs / "decisions":
            return f"[{match.group(1)}]({target}/index.md)"
        if re.match(r"#|[a-z]+:", target) or path.is_relative_to(docs):
            return match.group(0)
        if not path.exists():
            LOG.warning("%s links to %s, which does not exist", page.file.src_uri, target)
        return f"`{path.relative_to(ROOT)}`"

    def link(match):
        title = (docs / match.group(1)).read_text().splitlines()[0].lstrip("# ")
        return f"([{title}]({os.path.relpath(docs / match.group(1), folder)}))"

    def link_to_output(match):
        name = {"--help": "commands", "explain": "ids"}.get(match.group(1), f"topics/{match.group(2)}")
        path = docs / "reference" / f"{name}.md"
        if files.get_file_from_path(f"reference/{name}.md") in (None, page.file):
            return match.group(0)
        return f"[{match.group(0)}]({os.path.relpath(path, folder)})"

    markdown = re.sub(r"`dllaunch (--help|explain|help ([a-z-]+))`", link_to_output, markdown)
    if page.file.src_uri == "reference/job-file.md":
        markdown = re.sub(r"\(docs/([a-z-]+/[a-z-]+\.md)\)", link, markdown)
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", within_the_site, markdown)


def on_post_page(output, page, config):
    """The reader's browser asks no other server for a part of a page."""
    for request in re.findall(r"<(?:script|img|link|iframe|source)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>", output):
        LOG.warning("%s asks another server: %s", page.file.src_uri, request)
    return output


def on_post_build(config):
    """Nor do the style sheets."""
    for sheet in pathlib.Path(config.site_dir).rglob("*.css"):
        for request in re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\s]*", sheet.read_text()):
            LOG.warning("%s asks another server: %s", sheet.name, request)

"""prepare.py ROOT OUT: the manual as Sphinx takes it.

Copies the pages of docs/ and some pages beside them, and mends links: those to headers lead to
the API reference, those to sources of examples to a page with the source, and those to other
files of the repository become their names. Writes a page per header and per example, a list
of all functions, and the tables of contents, which follow the tables of docs/index.md.
"""
import os
import re
import subprocess
import sys

root, out = sys.argv[1:]
BESIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples/index.md",
    "tests/data/golden/generate/README.md": "internals/golden-cases.md",
}
PRIVATE_HEADERS = {"pith.h", "kernel_macros.h", "kernel_types.h", "kernel_checked.h"}

pages = {}  # path in the repository: path in the output
for folder, _, names in os.walk(os.path.join(root, "docs")):
    for name in names:
        if name.endswith(".md"):
            path = os.path.relpath(os.path.join(folder, name), root)
            pages[path] = os.path.relpath(path, "docs")
for path, target in BESIDE.items():
    if os.path.exists(os.path.join(root, path)):
        pages[path] = target
headers = sorted(
    name
    for name in os.listdir(os.path.join(root, "include/pith"))
    if name.endswith(".h") and name not in PRIVATE_HEADERS
)
for name in headers:
    pages["include/pith/" + name] = f"reference/api/{name[:-2]}.md"
sources = []
with open(os.path.join(root, "examples/README.md"), encoding="utf-8") as file:
    folders = re.findall(r"^\| \[`([a-z_]+)/`\]", file.read(), flags=re.M)
for folder in folders:
    for name in sorted(os.listdir(os.path.join(root, "examples", folder))):
        if name.endswith((".c", ".h")):
            path = f"examples/{folder}/{name}"
            pages[path] = path[:-2] + ("_h.md" if name.endswith(".h") else ".md")
            sources.append(path)


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    path = os.path.join(out, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def mend(text, path):
    """Links of a page as they are in the output; text in fences stays."""

    def link(match):
        label, target = match.group(1), match.group(2)
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        name, _, anchor = target.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if name == "include/pith":
            name, anchor = "docs/reference/api.md", ""
        if name not in pages:
            return label
        where = os.path.relpath(pages[name], os.path.dirname(pages[path]) or ".")
        return f"[{label}]({where}{'#' + anchor if anchor else ''})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(
        part if part.startswith("```") else re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, part)
        for part in parts
    )


def functions_by_header():
    """A list of the functions of each page of a header, from scripts/api."""
    lines = subprocess.run(
        [os.path.join(root, "scripts/api"), "--list", root], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()
    names = {}
    for line in lines:
        header, name = line.split("\t")[:2]
        names.setdefault(header, []).append(f"`{name}`")
    return "".join(
        f"\n[{name}](api/{name[:-2]}.md): {', '.join(sorted(names[name]))}.\n" for name in headers if name in names
    )


def toctree(entries, caption=None, hidden=True):
    lines = ["```{toctree}", ":maxdepth: 1"]
    lines += [":hidden:"] if hidden else []
    lines += [f":caption: {caption}"] if caption else []
    return "\n".join(lines + [*entries, "```"]) + "\n"


def contents(index):
    """One table of contents for each section of the index that has a table of pages."""
    text = ""
    for section in re.split(r"^## ", index, flags=re.M)[1:]:
        title = section.split("\n", 1)[0]
        entries = []
        for target in re.findall(r"^\| \[[^\]]+\]\(([^)#]+)", section, flags=re.M):
            name = os.path.normpath(os.path.join("docs", target))
            if name in pages:
                entries.append(pages[name][:-3])
        if title == "Reference":
            entries.insert(0, "reference/api")
        if entries:
            text += "\n" + toctree(entries, title)
    more = [pages[p][:-3] for p in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md") if p in pages]
    return text + "\n" + toctree(more, "Project")


for path in pages:
    if not path.endswith(".md"):
        continue
    text = mend(read(path), path)
    if path == "docs/index.md":
        text += contents(read(path))
    elif path == "docs/reference/api.md":
        text += "\n## Headers\n\n" + toctree([f"api/{name[:-2]}" for name in headers], hidden=False)
        text += "\n## Functions\n" + functions_by_header()
    elif path == "examples/README.md":
        text += "\n" + toctree([os.path.relpath(pages[p][:-3], "examples") for p in sources])
    write(pages[path], text)
for name in headers:
    write(
        pages["include/pith/" + name],
        f"# pith/{name}\n\n```c\n#include <pith/{name}>\n```\n\n"
        f"```{{eval-rst}}\n.. doxygenfile:: {name}\n   :project: pith\n```\n",
    )
for path in sources:
    write(pages[path], f"# {path.split('/', 1)[1]}\n\n```c\n{read(path)}```\n")

"""Sphinx: the manual in Markdown (MyST) and the public headers (Doxygen, Breathe)."""
import os
import re

project = "pith"
author = "the pith authors"
copyright = author
html_title = "pith"
extensions = ["myst_parser", "breathe"]
source_suffix = {".md": "markdown"}
root_doc = "index"

myst_heading_anchors = 4
suppress_warnings = ["myst.header"]

breathe_projects = {"pith": os.environ["PITH_DOCS_XML"]}
breathe_default_project = "pith"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
primary_domain = "c"
highlight_language = "text"

html_theme = "furo"
html_static_path = ["custom.css"]
html_css_files = ["custom.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_use_index = True

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Sphinx's configuration. docs.sh runs Sphinx on a copy of this folder.

import re

from docutils import nodes

project = "rdma-cmx"
author = "the rdma-cmx authors"
root_doc = "index"
html_theme = "alabaster"
html_theme_options = {"page_width": "60em", "nosidebar": False}
html_copy_source = False
html_extra_path = ["extra"]
primary_domain = "c"
highlight_language = "none"
smartquotes = False

# Types of the kernel and of user space that the headers use
c_id_attributes = ["__user"]


def links(app, doctree):
    """The pages name each other by file, so that links work in the tree, too."""
    for node in doctree.findall(nodes.reference):
        uri = node.get("refuri", "")
        if re.match(r"[a-z_/-]+\.rst(#|$)", uri):
            node["refuri"] = uri.replace(".rst", ".html", 1)
        elif re.match(r"\.\./[A-Z]+\.md$", uri):
            node["refuri"] = uri[3:]


def setup(app):
    app.connect("doctree-read", links)
    return {"parallel_read_safe": True}

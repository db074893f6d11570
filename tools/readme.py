"""Hook of the build: links of the README become absolute, so that they work on a package index.

The public address of the repository stands in ``pyproject.toml``; as long as it is empty, links
stay as they are.
"""

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)]+)\)")


def absolute_links(text: str, address: str) -> str:
    """Markdown with its relative links below an address, pages as pages and images as files."""

    def absolute(link: re.Match[str]) -> str:
        folder = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({address}/{folder}/main/{link['path']})"

    return LINK.sub(absolute, text) if address else text


def get_metadata_hook() -> type:
    """The hook; hatchling is there in a build only."""
    from hatchling.metadata.plugin.interface import MetadataHookInterface

    class ReadmeHook(MetadataHookInterface):
        """Gives the long description of the package."""

        def update(self, metadata: dict[str, Any]) -> None:
            text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
            text = absolute_links(text, self.config["address"].rstrip("/"))
            metadata["readme"] = {"content-type": "text/markdown", "text": text}

    return ReadmeHook

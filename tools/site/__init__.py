"""The documentation as a site: pages of `docs/`, pages made from code, and the tool that makes HTML of them."""

"""Views of a job: its events, reports to other systems, the page, and objects in a notebook."""

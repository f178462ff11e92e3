"""The report: many results on one page, as HTML, Markdown, JSON and text."""

"""Pictures of executed pages are SVG."""

c = get_config()  # noqa: F821  # given by IPython
c.InlineBackend.figure_formats = {"svg"}
c.HistoryManager.enabled = False

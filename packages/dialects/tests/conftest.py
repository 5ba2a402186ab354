"""Every run tries the same examples, as in `tests`."""

import hypothesis

hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", deadline=None, max_examples=5_000)
hypothesis.settings.load_profile("same")

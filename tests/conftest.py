"""How hard Hypothesis tries: HYPOTHESIS_PROFILE=deep looks twenty times as long, at other examples each time."""

import os

from hypothesis import settings

CI_EXAMPLES = 60

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=CI_EXAMPLES)
settings.register_profile("deep", deadline=None, max_examples=20 * CI_EXAMPLES, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

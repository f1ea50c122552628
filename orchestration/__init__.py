"""Dagster's side: definitions, jobs, resources, and the command line."""

import warnings

# Backfill policies and code references are in beta in the Dagster that is pinned; that
# they may change in another one is no news to someone who asks for an answer.
warnings.filterwarnings("ignore", message=r"(?s).*is currently in beta")

"""Generation (§3.3, A.8): the question, the evidence text, and readers that answer from it."""

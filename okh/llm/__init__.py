"""The language-model side: one client, its limits, its prices and its ledger."""

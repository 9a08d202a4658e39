"""The names of the appearances a person can choose. No Qt in here."""

THEMES = ("system", "light", "dark", "high-contrast")

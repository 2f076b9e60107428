"""All fixtures live in support/fixtures.py, so that every test folder has the same ones."""

pytest_plugins = ["support.fixtures"]

"""The methods `selfplay` and `value-td`: value networks that learn from self-play."""

"""What a game is: its rules, rows, random numbers, evaluators and features, and the checked door to them."""

"""What only building ships needs."""

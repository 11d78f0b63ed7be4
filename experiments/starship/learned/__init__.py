"""Who builds the best ships of given hulls and requests: by hand, by search, learned."""

"""Where work is done: in this process, in processes of this machine, on a cluster; who hands it over does not know which."""

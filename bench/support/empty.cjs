// Empty program: the floor of every start.

"""One process per machine that serves every project over HTTP and Unix sockets."""

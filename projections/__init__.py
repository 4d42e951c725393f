"""Read models that follow the log of a store, and answer what is asked about its matches."""

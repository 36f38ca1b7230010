package main

// Maintenance windows name time zones. The binary runs on bastions that have no
// zone files, and carries its own; those of the system are used where there are
// some.
import _ "time/tzdata"

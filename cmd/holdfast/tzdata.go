package main

// Maintenance windows name time zones. The binary contains the zone files, because
// some bastions have none. It prefers the files of the system.
import _ "time/tzdata"

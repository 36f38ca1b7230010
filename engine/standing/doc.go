// Package standing judges the standing of a host: who may work on it, and whether it counts as available, before its state is
// compared with the desired one. Plans, budgets, status, the quorum and the commands of people judge hosts with this package
// alone, so they always agree about a hold, a pause and a record.
package standing

// Package observe gathers the facts of a host that a configuration depends on: files,
// units, accounts and the record. One script reads all of them.
package observe

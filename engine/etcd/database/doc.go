// Package database reads the revision and the members from a database of etcd: a file in the format of bbolt. It reads
// only the few pages that it needs, so the file may be on another host. It never trusts the contents of the file, takes
// no lock, and changes nothing.
package database

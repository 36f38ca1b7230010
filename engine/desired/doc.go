// Package desired works out the desired state of hosts: it reads the documents
// that the inventory names for each host, and merges them with the OS of its pool.
// It reports settings that holdfast cannot apply to a running host.
package desired

// Package hostconfig is the module that manages files, directories, links, units,
// users and groups of a host. It compares three things: the applied
// configuration, which the record on the host contains; the documents of the
// host; and the state of the host. Then one script writes everything or nothing.
package hostconfig

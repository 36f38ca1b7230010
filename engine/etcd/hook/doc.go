// Package hook runs the command that tells the clients of an etcd cluster about
// its members. A file on the bastion remembers that the command is due, from
// before a change of the members until the command has succeeded.
package hook

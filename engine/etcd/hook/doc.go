// Package hook runs the command that tells the clients of an etcd cluster about
// its members. Before a change of the members, it makes a file on the bastion,
// which exists until the command has succeeded. While it exists, the command is due.
package hook

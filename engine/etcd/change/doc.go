// Package change carries out the steps of package membership: it adds and removes the members of an etcd cluster, through
// etcd itself and through scripts on the hosts, under the holds of the hosts.
//
// Before each step it gathers everything again. So it makes no difference whether the run before was killed: the records on
// the hosts tell which change was begun.
package change

// Package change carries out the steps of package membership: it adds and removes the members of an etcd cluster, through
// etcd itself and through scripts on the hosts, under the holds of the hosts.
//
// Before each step it gathers all facts again. So it can continue after a killed run: the records on the hosts tell which
// change has begun.
package change

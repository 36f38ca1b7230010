// Package metrics makes the metrics of a site for Prometheus: the end of the last
// command, the state of hosts, pools and etcd clusters, and the figures of the last
// apply. They are written as a file for the textfile collector of node_exporter.
//
// One file belongs to one site, and the commands of that site share it. A command
// replaces only the metrics that it knows: a plan that cannot reach the inventory
// leaves the state of the hosts as an earlier command wrote it, with the time of
// that state.
package metrics

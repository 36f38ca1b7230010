// Package connection keeps the connections of a run: one over SSH for each host,
// and one for each etcd cluster. They are the ports through which engine/rollout
// reaches hosts and clusters.
package connection

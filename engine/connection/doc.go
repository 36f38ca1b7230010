// Package connection has the connections of a run: an SSH connection for each
// host, and a connection for each etcd cluster. Package engine/rollout reaches
// hosts and clusters through these connections.
package connection

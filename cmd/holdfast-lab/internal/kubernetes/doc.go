// Package kubernetes runs a real control plane of Kubernetes in the network of a lab: API server, controller manager and scheduler,
// built from their published source, whose data are in the etcd of the lab's hosts.
//
// Its nodes have no kubelet and no container: a stand-in registers a Node for each host, keeps it Ready while the host is up, and
// moves its pods, which exist in name only, through their states.
package kubernetes

package kubernetes

import "holdfast/cmd/holdfast-lab/internal/spec"

// Cluster is one of the clusters that a lab can have. All keep their data in the same etcd, below a prefix of their own.
type Cluster string

// The clusters.
const (
	Main  Cluster = "main"  // all hosts are nodes
	Other Cluster = "other" // so they are here, under the same names
	Bare  Cluster = "bare"  // without nodes, scheduler and controllers: objects stay as they are made
)

// Clusters lists all clusters.
func Clusters() []Cluster { return []Cluster{Main, Other, Bare} }

// portNumbers returns the port of the API server, on the address of the lab's bridge, and the one of its control, on loopback.
func (c Cluster) portNumbers() (api, control string) {
	switch c {
	case Main:
	case Other:
		return "6444", "6441"
	case Bare:
		return "6445", "6440"
	}
	return "6443", "6442"
}

// URL returns the address of the API.
func (c Cluster) URL() string {
	api, _ := c.portNumbers()
	return "https://" + spec.Gateway + ":" + api
}

// ControlAddress returns where the cluster can be controlled, inside the network of the lab only.
func (c Cluster) ControlAddress() string {
	_, control := c.portNumbers()
	return "127.0.0.1:" + control
}

package engine

// KubernetesCluster is a Kubernetes cluster whose nodes are hosts of the site.
type KubernetesCluster struct {
	Name       string   `json:"name"`
	Kubeconfig string   `json:"kubeconfig"`        // file on the bastion, absolute
	Context    string   `json:"context,omitempty"` // context of the kubeconfig; "": its current context
	Timeout    Duration `json:"timeout,omitempty"` // for gathering facts; 0: 30 s

	Positions map[string]string `json:"-"` // FILE:LINE:COLUMN of each argument, by its name; of the block under ""
}

// Position returns the FILE:LINE:COLUMN of an argument, or of the block if it does not have the argument.
func (c KubernetesCluster) Position(argument string) string {
	if at := c.Positions[argument]; at != "" {
		return at
	}
	return c.Positions[""]
}

// KubernetesCluster returns the Kubernetes cluster with that name.
func (inv Inventory) KubernetesCluster(name string) (KubernetesCluster, bool) {
	return findByName(inv.Kubernetes, name, func(c *KubernetesCluster) string { return c.Name })
}

// AwaitNode waits until the node of the host is Ready.
type AwaitNode struct {
	Cluster  string `json:"cluster"`            // Kubernetes cluster of the node
	Node     string `json:"node"`               // name of the node
	Rebooted bool   `json:"rebooted,omitempty"` // the node must report another boot than that of the plan, so that it is Ready in the new one
}

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
	Kubernetes string `json:"kubernetes"`         // Kubernetes cluster of the node
	Node       string `json:"node"`               // name of the node
	Rebooted   bool   `json:"rebooted,omitempty"` // the node must report another boot than that of the plan, so that it is Ready in the new one

	SoftRebooted bool `json:"soft_rebooted,omitempty"` // its kubelet, which a soft reboot of this run stops, must have reported since the order to reboot

	InCurrentBoot bool `json:"in_current_boot,omitempty"` // the node must report the current boot of the host
	Verify        bool `json:"verify,omitempty"`          // a hold names the node, so check that it is the node of the host
}

// KubernetesDrain has the options of a drain through the API of Kubernetes. Pods of DaemonSets and mirror pods always stay.
type KubernetesDrain struct {
	GracePeriod        *Duration       `json:"grace_period,omitempty"`         // between SIGTERM and SIGKILL; missing: the pod's own
	Force              bool            `json:"force,omitempty"`                // also evict pods that no controller makes again
	DeleteEmptydirData bool            `json:"delete_emptydir_data,omitempty"` // also evict pods with data in an emptyDir
	ShareBudgets       bool            `json:"share_budgets,omitempty"`        // hosts of one batch may wait for the same PodDisruptionBudget
	PodSelector        string          `json:"pod_selector,omitempty"`         // label selector of the pods to evict; "": all
	OnTimeout          OnDrainTimeout  `json:"on_timeout,omitempty"`           // reaction to pods that are left
	Blocked            OnBlockedDrain  `json:"blocked,omitempty"`              // reaction to a drain that cannot succeed
	WhenUnreachable    WhenUnreachable `json:"when_unreachable,omitempty"`     // reaction to an API that does not answer
}

// OnDrainTimeout is the reaction to pods that are left when the time of a drain is over.
type OnDrainTimeout string

// The reactions to pods that are left.
const (
	FailOnTimeout     OnDrainTimeout = ""         // the host is given back, and has failed
	ContinueOnTimeout OnDrainTimeout = "continue" // the host is disrupted with the pods that are left
)

// OnBlockedDrain is the reaction to a drain that cannot succeed.
type OnBlockedDrain string

// The reactions to a drain that cannot succeed.
const (
	RefuseBlocked OnBlockedDrain = ""     // the plan leaves out the host
	WarnOfBlocked OnBlockedDrain = "warn" // the plan only warns
)

// WhenUnreachable is the reaction to an API that does not answer.
type WhenUnreachable string

// The reactions to an API that does not answer.
const (
	ExcludeUnreachable WhenUnreachable = ""     // the plan leaves out the host
	SkipUnreachable    WhenUnreachable = "skip" // the host is disrupted without a drain
)

// DrainNode takes the lease of the node, cordons it and evicts its pods.
type DrainNode struct {
	Kubernetes string          `json:"kubernetes"` // Kubernetes cluster of the node
	Node       string          `json:"node"`       // name of the node
	Options    KubernetesDrain `json:"options"`    // options of the drain of its pool
	LeaseFor   Duration        `json:"lease_for"`  // how long the lease of the node lasts: as long as the hold

	WasNotReady bool `json:"was_not_ready,omitempty"` // the node was not Ready when the plan was made, so pods that its kubelet does not end are not waited for
}

// UndrainNode uncordons the node if a run has cordoned it, and releases its lease.
type UndrainNode struct {
	Kubernetes string `json:"kubernetes"`       // Kubernetes cluster of the node
	Node       string `json:"node,omitempty"`   // name of the node; "": the API did not tell when the plan was made, so it is asked again
	Verify     bool   `json:"verify,omitempty"` // a hold on the host names the node, so the API is asked whether it is the node of the host
}

package kubefacts

import "time"

// Pod is a pod on a node.
type Pod struct {
	UID         string // a pod of the same name with another UID is another pod
	Namespace   string
	Name        string
	Labels      map[string]string
	Mirror      bool      // of a static pod, which the kubelet runs without the API
	DaemonSet   bool      // a DaemonSet controls it, and it has not run to its end
	Controlled  bool      // a controller makes another pod in its place
	Owner       string    // UID of that controller
	EmptyDir    bool      // it has data that end with it
	Pending     bool      // it has not started
	Ready       bool      // it is healthy for its budgets
	Finished    bool      // it has run to its end
	Terminating bool      // it is being deleted
	Created     time.Time // by the clock of the API, in whole seconds
	Overdue     bool      // it should have ended more than a minute ago, by the clock of the API: its grace period is over

	ToleratesCordon bool // the scheduler also places it on a cordoned node
}

// String returns the namespace and the name.
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Workload has the pods of nodes, and all budgets of their cluster.
type Workload struct {
	Problem *Problem            // why they are not known
	Missing []Right             // rights that a drain by the API needs and the user lacks
	ReadAt  time.Time           // when the reading began, by the clock of the API, to within a second
	Pods    map[string][]Pod    // by node
	Budgets map[string][]Budget // by namespace
}

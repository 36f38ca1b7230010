package kube

import (
	"encoding/json"
	"slices"
	"time"

	"holdfast/engine/kubefacts"
)

// metadata has the fields of ObjectMeta that holdfast reads.
type metadata struct {
	Name              string     `json:"name"`
	UID               string     `json:"uid"`
	ResourceVersion   string     `json:"resourceVersion"`
	CreationTimestamp time.Time  `json:"creationTimestamp"`
	DeletionTimestamp *time.Time `json:"deletionTimestamp"`
}

// wireNode has the fields of a Node that holdfast reads.
type wireNode struct {
	Metadata struct {
		labelled
		ManagedFields few[fieldOwner] `json:"managedFields"`
	} `json:"metadata"`
	Spec struct {
		Unschedulable bool `json:"unschedulable"`
		Taints        few[struct {
			Key    string `json:"key"`
			Value  string `json:"value"`
			Effect string `json:"effect"`
		}] `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions few[struct {
			Type              string    `json:"type"`
			Status            string    `json:"status"`
			Reason            string    `json:"reason"`
			Message           string    `json:"message"`
			LastHeartbeatTime time.Time `json:"lastHeartbeatTime"`
		}] `json:"conditions"`
		Addresses few[struct {
			Address string `json:"address"`
		}] `json:"addresses"`
		NodeInfo struct {
			BootID         string `json:"bootID"`
			KubeletVersion string `json:"kubeletVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// fieldManager names holdfast as the owner of the fields that it sets.
const fieldManager = "holdfast"

// mergedManagers is the owner of the fields of the oldest owners: the API merges these once an object has more than ten
// owners by updates.
const mergedManagers = "ancient-changes"

// fieldOwner has the fields of a Node that a client of the API was the last to set.
type fieldOwner struct {
	Manager  string `json:"manager"`
	FieldsV1 struct {
		Spec struct {
			Unschedulable *unread `json:"f:unschedulable"` // nil: it was not the last to set the field
		} `json:"f:spec"`
	} `json:"fieldsV1"`
}

// cordonedBy returns the run that has cordoned the node, or "". A node that somebody has uncordoned and cordoned again still has the
// annotation of the run, but another owner of the field. merged reports that this owner may be the run or somebody else.
func (n wireNode) cordonedBy() (run string, merged bool) {
	run = n.Metadata.Annotations.cordonedBy
	for _, o := range n.Metadata.ManagedFields {
		switch {
		case o.FieldsV1.Spec.Unschedulable == nil || o.Manager == fieldManager:
		case o.Manager != mergedManagers:
			return "", false
		default:
			merged = run != ""
		}
	}
	if merged {
		return "", true
	}
	return shortenText(run), false
}

// maxOfNode bounds the addresses and the taints of one node.
const maxOfNode = 64

func (n wireNode) facts() kubefacts.Node {
	f := kubefacts.Node{
		Name: shortenText(n.Metadata.Name), UID: shortenText(n.Metadata.UID), Cordoned: n.Spec.Unschedulable, Deleted: n.Metadata.DeletionTimestamp != nil,
		BootID: shortenText(n.Status.NodeInfo.BootID), KubeletVersion: shortenText(n.Status.NodeInfo.KubeletVersion), NotReady: "it has no condition Ready",
	}
	f.CordonedBy, f.CordonMerged = n.cordonedBy()
	for _, t := range n.Spec.Taints[:min(len(n.Spec.Taints), maxOfNode)] {
		f.Taints = append(f.Taints, kubefacts.Taint{Key: shortenText(t.Key), Value: shortenText(t.Value), Effect: shortenText(t.Effect)})
	}
	for _, a := range n.Status.Addresses[:min(len(n.Status.Addresses), maxOfNode)] {
		if a.Address != "" && !slices.Contains(f.Addresses, a.Address) {
			f.Addresses = append(f.Addresses, shortenText(a.Address))
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type != "Ready" {
			continue
		}
		f.HeartbeatAt = c.LastHeartbeatTime
		if f.Ready = c.Status == "True"; f.Ready {
			f.NotReady = ""
		} else {
			f.NotReady = shortenText(c.Reason + ": " + c.Message)
		}
	}
	return f
}

// wireLease has the fields of a Lease that holdfast reads.
type wireLease struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		HolderIdentity       string    `json:"holderIdentity"`
		LeaseDurationSeconds int32     `json:"leaseDurationSeconds"`
		AcquireTime          time.Time `json:"acquireTime"`
		RenewTime            time.Time `json:"renewTime"`
		LeaseTransitions     int       `json:"leaseTransitions"`
	} `json:"spec"`
}

func (l wireLease) facts(node string) kubefacts.Lease {
	return kubefacts.Lease{
		Node: node, Holder: shortenText(l.Spec.HolderIdentity), RenewedAt: l.Spec.RenewTime,
		Duration: time.Duration(l.Spec.LeaseDurationSeconds) * time.Second, Transitions: l.Spec.LeaseTransitions,
	}
}

// wireMaintenance has the fields of a NodeMaintenance of medik8s that holdfast reads.
type wireMaintenance struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		NodeName string `json:"nodeName"`
		Reason   string `json:"reason"`
	} `json:"spec"`
}

// page is one page of a list.
type page[T any] struct {
	Kind     string
	Metadata struct {
		Continue string `json:"continue"`
	}
	Items []T
}

// credential is the answer of a plugin, see k8s.io/client-go/pkg/apis/clientauthentication.
type credential struct {
	Kind   string `json:"kind"`
	Status struct {
		ExpirationTimestamp   time.Time `json:"expirationTimestamp"`
		Token                 string    `json:"token"`
		ClientCertificateData string    `json:"clientCertificateData"`
		ClientKeyData         string    `json:"clientKeyData"`
	} `json:"status"`
}

// labelled is metadata with labels, annotations and owners.
type labelled struct {
	metadata
	Namespace       string      `json:"namespace"`
	Generation      int64       `json:"generation"`
	Labels          labels      `json:"labels"`
	Annotations     annotations `json:"annotations"`
	OwnerReferences few[struct {
		APIVersion string `json:"apiVersion"`
		UID        string `json:"uid"`
		Name       string `json:"name"`
		Kind       string `json:"kind"`
		Controller bool   `json:"controller"`
	}] `json:"ownerReferences"`
}

// wirePod has the fields of a Pod that decide whether and how it is evicted.
type wirePod struct {
	Metadata labelled `json:"metadata"`
	Spec     struct {
		NodeName string `json:"nodeName"`
		Volumes  few[struct {
			EmptyDir *unread `json:"emptyDir"`
		}] `json:"volumes"`
		Tolerations few[toleration] `json:"tolerations"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		Conditions few[struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		}] `json:"conditions"`
	} `json:"status"`
}

func (p wirePod) facts() kubefacts.Pod {
	f := kubefacts.Pod{
		UID: shortenText(p.Metadata.UID), Namespace: shortenText(p.Metadata.Namespace), Name: shortenText(p.Metadata.Name), Labels: p.Metadata.Labels,
		Created: p.Metadata.CreationTimestamp, Finished: p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed", Terminating: p.Metadata.DeletionTimestamp != nil,
		Pending: p.Status.Phase == "Pending", Mirror: p.Metadata.Annotations.mirror,
		EmptyDir: len(p.Spec.Volumes) > maxInner, // one of those that are ignored may be one
	}
	for _, c := range p.Status.Conditions {
		f.Ready = f.Ready || c.Type == "Ready" && c.Status == "True"
	}
	f.ToleratesCordon = slices.ContainsFunc(p.Spec.Tolerations, toleration.matchesCordon)
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller {
			f.Owner = shortenText(o.UID)
		}
		f.Controlled = f.Controlled || o.Controller
		f.DaemonSet = f.DaemonSet || o.Controller && o.Kind == "DaemonSet" && o.APIVersion == "apps/v1" && !f.Finished
	}
	for _, v := range p.Spec.Volumes {
		f.EmptyDir = f.EmptyDir || v.EmptyDir != nil
	}
	return f
}

// wireBudget has the fields of a PodDisruptionBudget that decide whether a pod may be evicted.
type wireBudget struct {
	Metadata labelled `json:"metadata"`
	Spec     struct {
		Selector                   *wireSelector   `json:"selector"`
		UnhealthyPodEvictionPolicy string          `json:"unhealthyPodEvictionPolicy"`
		MinAvailable               json.RawMessage `json:"minAvailable"` // a number, or a percentage as text
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		DisruptionsAllowed int   `json:"disruptionsAllowed"`
		CurrentHealthy     int   `json:"currentHealthy"`
		DesiredHealthy     int   `json:"desiredHealthy"`
		ExpectedPods       int   `json:"expectedPods"`
		Conditions         few[struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		}] `json:"conditions"`
	} `json:"status"`
}

// wireSelector is the selector of a budget.
type wireSelector struct {
	MatchLabels      matchLabels `json:"matchLabels"`
	MatchExpressions few[struct {
		Key      string      `json:"key"`
		Operator string      `json:"operator"`
		Values   few[string] `json:"values"`
	}] `json:"matchExpressions"`
}

// syncFailed is the reason of a condition: the API allows no eviction because a budget cannot be computed.
const syncFailed = "SyncFailed"

func (b wireBudget) facts() kubefacts.Budget {
	f := kubefacts.Budget{
		Namespace: shortenText(b.Metadata.Namespace), Name: shortenText(b.Metadata.Name),
		Expected: b.Status.ExpectedPods, Desired: b.Status.DesiredHealthy, Healthy: b.Status.CurrentHealthy, Allowed: b.Status.DisruptionsAllowed,
		Stale:           b.Status.ObservedGeneration < b.Metadata.Generation,
		AllowsUnready:   b.Spec.UnhealthyPodEvictionPolicy == "AlwaysAllow",
		CountsByControl: json.Unmarshal(b.Spec.MinAvailable, new(int)) != nil,
	}
	for _, o := range b.Metadata.OwnerReferences {
		if o.Controller {
			f.ManagedBy = shortenText(o.Kind + "/" + o.Name)
		}
	}
	for _, c := range b.Status.Conditions {
		if c.Type == "DisruptionAllowed" && c.Status == "False" && c.Reason == syncFailed {
			f.SyncFailure = shortenText(c.Message)
		}
	}
	s := b.Spec.Selector
	if s == nil {
		f.Selector.None = true
		return f
	}
	f.Selector.Requirements = s.listRequirements()
	return f
}

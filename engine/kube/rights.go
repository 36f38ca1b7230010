package kube

import (
	"context"

	"holdfast/engine/kubefacts"
)

// drainRights has the rights that a drain needs, besides those on leases.
var drainRights = []kubefacts.Right{
	{Verb: "get", Resource: "nodes"},
	{Verb: "patch", Resource: "nodes"},
	{Verb: "get", Resource: "pods"},
	{Verb: "list", Resource: "pods"},
	{Verb: "create", Resource: "pods", Subresource: "eviction"},
	{Verb: "list", Group: "policy", Resource: "poddisruptionbudgets"},
}

// FindMissingRights returns the rights that the user lacks for drains. Rights on leases are needed only if the user may read
// them: clusters that nobody leases nodes of have no namespace for them.
func (c *Client) FindMissingRights(ctx context.Context) []kubefacts.Right {
	ctx, cancel := c.limitTime(ctx)
	defer cancel()
	lease := kubefacts.Right{Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Namespace: LeaseNamespace}
	wanted := drainRights
	if c.mayDo(ctx, lease) {
		for _, verb := range []string{"create", "update", "delete"} {
			lease.Verb = verb
			wanted = append(wanted[:len(wanted):len(wanted)], lease)
		}
	}
	var missing []kubefacts.Right
	for _, r := range wanted {
		if !c.mayDo(ctx, r) {
			missing = append(missing, r)
		}
	}
	return missing
}

func (c *Client) mayDo(ctx context.Context, r kubefacts.Right) bool {
	review := map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{"verb": r.Verb, "group": r.Group, "resource": r.Resource, "subresource": r.Subresource, "namespace": r.Namespace}},
	}
	answer := struct {
		Status struct {
			Allowed *bool `json:"allowed"`
		} `json:"status"`
	}{}
	if err := c.post(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, &answer); err != nil {
		return true
	}
	return answer.Status.Allowed == nil || *answer.Status.Allowed
}

package kube

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"holdfast/engine/kubefacts"
)

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/" + LeaseNamespace + "/leases"

// microTime is the format of times in leases. The API refuses times without microseconds.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

func leasePath(node string) string { return leasesPath + "/" + url.PathEscape(leasePrefix+node) }

// TakeLease takes the lease of a node, also from a run of holdfast, and from a tool whose lease is not valid any more by the clock of the API. The lease lasts as
// long as the hold of the host, so nobody has to renew it. With LeaseForeign, it returns the lease of the other tool.
func (c *Client) TakeLease(ctx context.Context, r kubefacts.LeaseRequest) (kubefacts.LeaseAnswer, kubefacts.Lease, *kubefacts.Problem) {
	doing := "taking the lease of node " + r.Node
	ctx, cancel := c.limitTime(ctx)
	defer cancel()
	for try := 1; ; try++ {
		var found wireLease
		err := c.get(ctx, leasePath(r.Node), &found)
		exists := err == nil
		switch {
		case isStatus(err, http.StatusForbidden):
			return kubefacts.LeaseUnused, kubefacts.Lease{}, nil // a warning of the facts names the right
		case err != nil && !isGone(err):
			return "", kubefacts.Lease{}, c.describeError(doing, err)
		}
		old := found.facts(r.Node)
		if exists && !old.IsOwn() && old.IsValid(c.readAPIClock()) {
			return kubefacts.LeaseForeign, old, nil
		}
		switch err := c.writeLease(ctx, r, found, exists); {
		case err == nil:
			return kubefacts.LeaseTaken, kubefacts.Lease{}, nil
		case !exists && isGone(err):
			return kubefacts.LeaseUnused, kubefacts.Lease{}, nil // the namespace does not exist
		case !isStatus(err, http.StatusConflict) && !isGone(err) || try >= maxConflicts:
			return "", kubefacts.Lease{}, c.describeError(doing, err)
		}
	}
}

// writeLease creates the lease, or replaces the one that was found if it is still the same.
func (c *Client) writeLease(ctx context.Context, r kubefacts.LeaseRequest, found wireLease, exists bool) error {
	now := c.readAPIClock().UTC().Format(microTime)
	acquired, transitions := now, found.Spec.LeaseTransitions
	if exists && found.Spec.HolderIdentity != r.Holder {
		transitions++
	} else if exists && !found.Spec.AcquireTime.IsZero() {
		acquired = found.Spec.AcquireTime.UTC().Format(microTime)
	}
	meta := map[string]any{
		"name": leasePrefix + r.Node, "namespace": LeaseNamespace,
		"ownerReferences": []map[string]any{{"apiVersion": "v1", "kind": "Node", "name": r.Node, "uid": r.NodeUID}},
	}
	lease := map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta,
		"spec": map[string]any{
			"holderIdentity": r.Holder, "leaseDurationSeconds": max(1, int(r.Duration/time.Second)), "acquireTime": acquired, "renewTime": now, "leaseTransitions": transitions,
		},
	}
	var after wireLease
	if !exists {
		return c.post(ctx, leasesPath, lease, &after)
	}
	meta["resourceVersion"] = found.Metadata.ResourceVersion
	return c.send(ctx, request{http.MethodPut, leasePath(r.Node), "application/json", lease}, &after)
}

// ReleaseLease deletes the lease of a node if a run of holdfast has it.
func (c *Client) ReleaseLease(ctx context.Context, node string) *kubefacts.Problem {
	doing := "releasing the lease of node " + node
	ctx, cancel := c.limitTime(ctx)
	defer cancel()
	for try := 1; ; try++ {
		var found wireLease
		if err := c.get(ctx, leasePath(node), &found); err != nil {
			if isGone(err) || isStatus(err, http.StatusForbidden) {
				return nil
			}
			return c.describeError(doing, err)
		}
		if !found.facts(node).IsOwn() {
			return nil
		}
		only := map[string]any{"preconditions": map[string]any{"uid": found.Metadata.UID, "resourceVersion": found.Metadata.ResourceVersion}}
		var answer unread
		err := c.send(ctx, request{http.MethodDelete, leasePath(node), "application/json", only}, &answer)
		switch {
		case err == nil, isGone(err):
			return nil
		case !isStatus(err, http.StatusConflict) || try >= maxConflicts:
			return c.describeError(doing, err)
		}
	}
}

package simulator

import (
	"context"
	"time"

	"holdfast/engine/kubefacts"
)

// SetLease replaces the lease of a node.
func (k *Kubernetes) SetLease(l kubefacts.Lease) { k.withLock(func() { k.leases[l.Node] = l }) }

// TakeLease is part of rollout.Nodes.
func (k *Kubernetes) TakeLease(ctx context.Context, _ string, r kubefacts.LeaseRequest) (kubefacts.LeaseAnswer, kubefacts.Lease, *kubefacts.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.problem(ctx); p != nil {
		return "", kubefacts.Lease{}, p
	}
	if l := k.leases[r.Node]; l.IsValid(time.Now()) && !l.IsOwn() {
		return kubefacts.LeaseForeign, l, nil
	}
	k.leases[r.Node] = kubefacts.Lease{Node: r.Node, Holder: r.Holder, RenewedAt: time.Now(), Duration: r.Duration}
	k.note("lease " + r.Node)
	return kubefacts.LeaseTaken, kubefacts.Lease{}, nil
}

// ReleaseLease is part of rollout.Nodes.
func (k *Kubernetes) ReleaseLease(ctx context.Context, _, node string) *kubefacts.Problem {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l, ok := k.leases[node]; ok && l.IsOwn() && k.problem(ctx) == nil {
		delete(k.leases, node)
		k.note("release " + node)
	}
	return k.problem(ctx)
}

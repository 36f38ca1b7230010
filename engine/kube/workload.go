package kube

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"holdfast/engine/kubefacts"
)

// fewNodes is the largest number of nodes whose pods are listed node by node. The pods of more nodes are found in the list of
// all pods, which needs fewer requests.
const fewNodes = 20

// maxPods bounds the pods of nodes in one cluster: Kubernetes supports 150,000.
const maxPods = 300_000

// overdueAfter is the time after the grace period of a pod, which its deletionTimestamp includes, after which it should have
// ended.
const overdueAfter = time.Minute

// maxBudgetTerms bounds the budgets of one cluster, and the keys and values of their selectors, all together.
const maxBudgetTerms = 1_000_000

// ReadWorkload reads the pods of nodes, and all PodDisruptionBudgets. A problem is part of the result.
func (c *Client) ReadWorkload(ctx context.Context, nodes []string) kubefacts.Workload {
	ctx, cancel := c.limitTime(ctx)
	defer cancel()
	began := c.bastion.Now()
	w := kubefacts.Workload{Pods: make(map[string][]kubefacts.Pod, len(nodes))}
	if err := c.readBudgets(ctx, &w); err != nil {
		return kubefacts.Workload{Problem: c.describeError("listing the PodDisruptionBudgets", err)}
	}
	if err := c.readPods(ctx, &w, nodes); err != nil {
		return kubefacts.Workload{Problem: c.describeError("listing the pods", err)}
	}
	w.ReadAt = began.Add(c.readClockAhead())
	return w
}

func (c *Client) readBudgets(ctx context.Context, w *kubefacts.Workload) error {
	terms := 0
	restart := func() { w.Budgets, terms = map[string][]kubefacts.Budget{}, 0 }
	restart()
	budgets := listing[wireBudget]{path: "/apis/policy/v1/poddisruptionbudgets", restart: restart}
	budgets.use = func(b wireBudget) {
		f := b.facts()
		if terms += countTerms(f); terms <= maxBudgetTerms {
			w.Budgets[f.Namespace] = append(w.Budgets[f.Namespace], f)
		}
	}
	err := budgets.read(ctx, c)
	if err == nil && terms > maxBudgetTerms {
		return endlessListError{fmt.Sprintf("the budgets and the keys and values of their selectors are more than %d", maxBudgetTerms)}
	}
	return err
}

func countTerms(b kubefacts.Budget) int {
	terms := 1
	for _, r := range b.Selector.Requirements {
		terms += 1 + len(r.Values)
	}
	return terms
}

func (c *Client) readPods(ctx context.Context, w *kubefacts.Workload, nodes []string) error {
	wanted := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		wanted[n] = true
	}
	selectors := []url.Values{nil}
	if len(nodes) <= fewNodes {
		selectors = nil
		for _, n := range nodes {
			selectors = append(selectors, url.Values{"fieldSelector": {"spec.nodeName=" + n}})
		}
	}
	kept := 0
	for _, selector := range selectors {
		pods := listing[wirePod]{path: "/api/v1/pods", query: selector}
		pods.restart = func() {
			for _, n := range nodes {
				if selector == nil || selector.Get("fieldSelector") == "spec.nodeName="+n {
					kept -= len(w.Pods[n])
					delete(w.Pods, n)
				}
			}
		}
		pods.use = func(p wirePod) {
			if node := p.Spec.NodeName; wanted[node] {
				if kept++; kept <= maxPods {
					f := p.facts()
					f.Overdue = f.Terminating && c.readAPIClock().Sub(*p.Metadata.DeletionTimestamp) > overdueAfter
					w.Pods[node] = append(w.Pods[node], f)
				}
			}
		}
		if err := pods.read(ctx, c); err != nil {
			return err
		}
	}
	if kept > maxPods {
		return endlessListError{fmt.Sprintf("the nodes have more than %d pods", maxPods)}
	}
	return nil
}

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"holdfast/engine/kubefacts"
)

// CordonAnnotation is on a node that a run of holdfast has cordoned, with the identity of the run. The same request sets it and
// cordons the node, so no crash can separate the two: a node with it was cordoned by a run, a cordoned node without it by somebody else,
// and so was a node that has it and whose mark another client of the API has set last.
const CordonAnnotation = "holdfast/cordoned-by"

// maxConflicts bounds how often a change is tried again because its object has changed meanwhile: kubelets report often.
const maxConflicts = 8

func nodePath(name string) string { return "/api/v1/nodes/" + url.PathEscape(name) }

// Cordon marks a node as unschedulable, as the work of a run. A node that is cordoned already stays as it is. Cordon returns the
// node as it is then.
func (c *Client) Cordon(ctx context.Context, name, by string) (kubefacts.Node, *kubefacts.Problem) {
	return c.changeNode(ctx, "cordoning node "+name, name, func(n kubefacts.Node) (patch map[string]any, annotation any) {
		if n.Cordoned {
			return nil, nil
		}
		return map[string]any{"unschedulable": true}, by
	})
}

// Uncordon ends the cordon of a run. A node that somebody else has cordoned stays cordoned. A node that is gone needs nothing.
func (c *Client) Uncordon(ctx context.Context, name string) (kubefacts.Node, *kubefacts.Problem) {
	return c.changeNode(ctx, "uncordoning node "+name, name, func(n kubefacts.Node) (patch map[string]any, annotation any) {
		if n.CordonedBy == "" {
			return nil, nil
		}
		return map[string]any{"unschedulable": nil}, nil
	})
}

// changeNode patches a node with the resource version that the decision was made for, and decides again if the node has changed.
func (c *Client) changeNode(ctx context.Context, doing, name string, decide func(kubefacts.Node) (spec map[string]any, annotation any)) (kubefacts.Node, *kubefacts.Problem) {
	ctx, cancel := c.limitTime(ctx)
	defer cancel()
	for try := 1; ; try++ {
		var n wireNode
		if err := c.get(ctx, nodePath(name), &n); err != nil {
			if isGone(err) {
				return kubefacts.Node{Name: name, Gone: true}, nil
			}
			return kubefacts.Node{}, c.describeError(doing, err)
		}
		spec, annotation := decide(n.facts())
		if spec == nil {
			return n.facts(), nil
		}
		patch := map[string]any{
			"metadata": map[string]any{"resourceVersion": n.Metadata.ResourceVersion, "annotations": map[string]any{CordonAnnotation: annotation}},
			"spec":     spec,
		}
		var after wireNode
		err := c.send(ctx, request{http.MethodPatch, nodePath(name) + "?fieldManager=" + fieldManager, "application/merge-patch+json", patch}, &after)
		switch {
		case err == nil:
			return after.facts(), nil
		case !isStatus(err, http.StatusConflict) || try >= maxConflicts:
			return kubefacts.Node{}, c.describeError(doing, err)
		}
	}
}

func isStatus(err error, code int) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == code
}

// isGone reports whether the API has told that an object does not exist.
func isGone(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == http.StatusNotFound && goneReasons[status.reason]
}

// Evict asks the API to end one pod. A pod that has been replaced by another of its name costs the budget of both even if the API then
// refuses, so Evict reads the pod first.
func (c *Client) Evict(ctx context.Context, r kubefacts.EvictionRequest) kubefacts.Eviction {
	ctx, cancel := c.limitTime(ctx)
	defer cancel()
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", url.PathEscape(r.Pod.Namespace), url.PathEscape(r.Pod.Name))
	var now wirePod
	if err := c.get(ctx, path, &now); err != nil {
		return c.judgeEviction(r.Pod, err)
	}
	if now.Metadata.UID != r.Pod.UID {
		return kubefacts.Eviction{Kind: kubefacts.PodReplaced}
	}
	options := map[string]any{"preconditions": map[string]any{"uid": r.Pod.UID}}
	if r.Grace != nil {
		options["gracePeriodSeconds"] = *r.Grace
	}
	var answer unread
	return c.judgeEviction(r.Pod, c.post(ctx, path+"/eviction", map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction",
		"metadata":      map[string]any{"namespace": r.Pod.Namespace, "name": r.Pod.Name},
		"deleteOptions": options,
	}, &answer))
}

// judgeEviction returns the meaning of an answer. Only status codes and the reasons of causes decide; the name of the budget is in no field.
func (c *Client) judgeEviction(p kubefacts.Pod, err error) kubefacts.Eviction {
	var status *statusError
	if err == nil {
		return kubefacts.Eviction{Kind: kubefacts.PodEvicted}
	}
	e := kubefacts.Eviction{Kind: kubefacts.EvictionUnknown, Problem: c.describeError("evicting pod "+p.String(), err)}
	if !errors.As(err, &status) {
		return e
	}
	e.Text = status.message
	for _, cause := range status.causes { // of 429, and of 403 if the budget has too many evictions under way
		if budgetCauses[cause.Reason] {
			return kubefacts.Eviction{Kind: kubefacts.BudgetRefused, Budget: shortenText(kubefacts.BudgetOfCause(cause.Message)), Text: shortenText(cause.Message)}
		}
	}
	switch {
	case status.code == http.StatusTooManyRequests, status.code == http.StatusUnauthorized, status.code == http.StatusRequestTimeout:
		return e // the API limits its clients, or a token is about to be replaced
	case isGone(err):
		return kubefacts.Eviction{Kind: kubefacts.PodGone}
	case status.code == http.StatusNotFound:
		return e // a proxy answers, and no API
	case status.code == http.StatusConflict:
		return kubefacts.Eviction{Kind: kubefacts.PodReplaced}
	case status.code == http.StatusForbidden:
		e.Kind = kubefacts.EvictionForbidden
	case status.code == http.StatusInternalServerError && status.reason == noReason: // the errors of an API without its etcd have reasons
		return kubefacts.Eviction{Kind: kubefacts.TwoBudgetsRefused, Text: status.message}
	case status.code < http.StatusInternalServerError:
		e.Kind = kubefacts.EvictionInvalid
	}
	return e
}

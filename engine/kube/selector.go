package kube

import (
	"bytes"
	"encoding/json"
	"slices"

	"holdfast/engine/kubefacts"
)

// maxTerms bounds the keys and values of the selector of one budget. A selector with more loses requirements, so that it rather matches a pod
// than overlooks it: the API decides in the end.
const maxTerms = 100

// matchLabels are the first labels that a selector asks for.
type matchLabels []kubefacts.Requirement

// UnmarshalJSON decodes the labels.
func (m *matchLabels) UnmarshalJSON(text []byte) error {
	*m = nil
	d := json.NewDecoder(bytes.NewReader(text))
	return withoutEnough(eachField(d, func(key string) error {
		if len(*m) > maxTerms {
			return errEnough
		}
		var value string
		err := d.Decode(&value)
		*m = append(*m, newRequirement(key, kubefacts.In, []string{value}))
		return err
	}))
}

// newRequirement returns a requirement without the keys and values that no label has, because they are too long.
func newRequirement(key string, operator kubefacts.Operator, values []string) kubefacts.Requirement {
	if !isLabelKey(key) {
		key = ""
	}
	return kubefacts.Requirement{Key: key, Operator: operator, Values: slices.DeleteFunc(values, func(v string) bool { return len(v) > maxLabel })}
}

// operators has the operators of label selectors.
var operators = map[string]kubefacts.Operator{"In": kubefacts.In, "NotIn": kubefacts.NotIn, "Exists": kubefacts.Exists, "DoesNotExist": kubefacts.DoesNotExist}

// listRequirements returns the requirements of the selector, as far as maxTerms allows.
func (s wireSelector) listRequirements() (all []kubefacts.Requirement) {
	left := maxTerms
	add := func(r kubefacts.Requirement, terms int) {
		if terms <= left {
			left -= terms
			all = append(all, r)
		}
	}
	for _, r := range s.MatchLabels {
		add(r, 2)
	}
	for _, e := range s.MatchExpressions {
		add(newRequirement(e.Key, operators[e.Operator], e.Values), 1+len(e.Values))
	}
	return all
}

// toleration is a toleration of a pod.
type toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
}

// matchesCordon reports whether the scheduler places the pod on a cordoned node, which counts as one with the taint
// node.kubernetes.io/unschedulable:NoSchedule. This taint has no value.
func (t toleration) matchesCordon() bool {
	matches := t.Operator == "Exists" || (t.Operator == "" || t.Operator == "Equal") && t.Value == ""
	return matches && (t.Key == "" || t.Key == "node.kubernetes.io/unschedulable") && (t.Effect == "" || t.Effect == "NoSchedule")
}

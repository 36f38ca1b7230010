package kubefacts

import (
	"fmt"
	"slices"
	"strings"
)

// Selector is a label selector. A selector without requirements matches every pod.
type Selector struct {
	None         bool // the budget has no selector, and matches no pod
	Requirements []Requirement
}

// Requirement is one requirement of a selector.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string
}

// Operator is the operator of a requirement.
type Operator string

// The operators.
const (
	In           Operator = "in"
	NotIn        Operator = "not-in" // also a pod without the label
	Exists       Operator = "exists"
	DoesNotExist Operator = "does-not-exist"
)

// Matches reports whether the labels meet all requirements. An operator that is not known matches, so that a budget is
// rather counted than overlooked.
func (s Selector) Matches(labels map[string]string) bool {
	if s.None {
		return false
	}
	return !slices.ContainsFunc(s.Requirements, func(r Requirement) bool {
		value, has := labels[r.Key]
		switch r.Operator {
		case In:
			return !has || !slices.Contains(r.Values, value)
		case NotIn:
			return has && slices.Contains(r.Values, value)
		case Exists:
			return !has
		case DoesNotExist:
			return has
		}
		return false
	})
}

// ParseSelector reads a label selector as kubectl writes it: "app=web,tier!=cache,env in (a,b),!debug". The selector of an
// empty text matches every pod.
func ParseSelector(text string) (Selector, error) {
	var s Selector
	for _, part := range splitSelector(text) {
		r, ok := parseRequirement(strings.TrimSpace(part))
		if !ok {
			return Selector{}, fmt.Errorf("%q is not a requirement on a label, such as app=web, app!=web, app in (a,b), app or !app", strings.TrimSpace(part))
		}
		s.Requirements = append(s.Requirements, r)
	}
	return s, nil
}

// splitSelector splits at the commas outside of parentheses.
func splitSelector(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	depth := 0
	return strings.FieldsFunc(text, func(c rune) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		return c == ',' && depth == 0
	})
}

func parseRequirement(text string) (Requirement, bool) {
	for _, form := range []struct {
		sign string
		op   Operator
	}{{"!=", NotIn}, {"==", In}, {"=", In}} {
		if key, value, found := strings.Cut(text, form.sign); found {
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			return Requirement{Key: key, Operator: form.op, Values: []string{value}}, isLabel(key) && (value == "" || isLabel(value))
		}
	}
	if words := strings.Fields(strings.Replace(text, "(", " (", 1)); len(words) > 1 {
		op := map[string]Operator{"in": In, "notin": NotIn}[words[1]]
		list, opened := strings.CutPrefix(strings.Join(words[2:], ""), "(")
		list, closed := strings.CutSuffix(list, ")")
		values := strings.Split(list, ",")
		return Requirement{Key: words[0], Operator: op, Values: values}, op != "" && opened && closed && isLabel(words[0]) && !slices.ContainsFunc(values, func(v string) bool { return !isLabel(v) })
	}
	if key, found := strings.CutPrefix(text, "!"); found {
		return Requirement{Key: key, Operator: DoesNotExist}, isLabel(key)
	}
	return Requirement{Key: text, Operator: Exists}, isLabel(text)
}

func isLabel(text string) bool {
	return text != "" && len(text) <= 317 && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-_./") == ""
}

package report

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"

	"holdfast/engine"
)

// Redact hides sensitive values from everything behind it: each is replaced
// wherever it appears in an event.
type Redact struct {
	Sensitive []string
	To        Sink
}

const hidden = "(sensitive)"

// Emit passes an event on without the sensitive values.
func (r Redact) Emit(e engine.Event) error {
	if len(r.Sensitive) == 0 {
		return r.To.Emit(e)
	}
	clean, err := redactJSON(e, r.Sensitive)
	if err != nil {
		return err
	}
	return r.To.Emit(clean)
}

// RedactPlan is a plan without the sensitive values.
func RedactPlan(p engine.Plan, sensitive []string) (engine.Plan, error) {
	if len(sensitive) == 0 {
		return p, nil
	}
	return redactJSON(p, sensitive)
}

// redactJSON replaces sensitive values in every string of v, by way of JSON,
// so that no field can be forgotten.
func redactJSON[T any](v T, sensitive []string) (T, error) {
	var clean T
	text, err := json.Marshal(v)
	if err != nil {
		return clean, err
	}
	var tree any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber() // as they are: no 64-bit number may be rounded
	if err := numbers.Decode(&tree); err != nil {
		return clean, err
	}
	if text, err = json.Marshal(redactTree(tree, replacer(sensitive))); err != nil {
		return clean, err
	}
	err = json.Unmarshal(text, &clean)
	return clean, err
}

// replacer replaces the longest values first, since one may contain another.
func replacer(sensitive []string) *strings.Replacer {
	values := append([]string(nil), sensitive...)
	sort.Slice(values, func(i, j int) bool { return len(values[i]) > len(values[j]) })
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, hidden)
	}
	return strings.NewReplacer(pairs...)
}

func redactTree(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case []any:
		for i := range v {
			v[i] = redactTree(v[i], r)
		}
	case map[string]any:
		for k := range v {
			v[k] = redactTree(v[k], r)
		}
	}
	return v
}

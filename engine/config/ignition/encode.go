// Package ignition replaces the parts of the Ignition library that are slow, quote secrets in messages, or write only
// the newest version.
package ignition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// Encode encodes a config in the oldest version that has all its fields,
// and verifies that Ignition accepts the result.
func Encode(c types.Config) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write Ignition config: %w", err)
	}
	var fields map[string]any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&fields); err != nil {
		return nil, fmt.Errorf("write Ignition config: %w", err)
	}
	pruneEmpty(fields)
	for _, s := range specifications[oldestRendered(c):] {
		fields["ignition"] = withText(fields["ignition"], "version", s.version)
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(fields); err != nil {
			return nil, fmt.Errorf("write Ignition config: %w", err)
		}
		strict := json.NewDecoder(bytes.NewReader(out.Bytes()))
		strict.DisallowUnknownFields()
		if strict.Decode(reflect.New(s.shape).Interface()) != nil {
			continue // this version lacks a field
		}
		if _, report, err := v3_6.ParseCompatibleVersion(out.Bytes()); err == nil && !report.IsFatal() {
			return out.Bytes(), nil
		}
	}
	return nil, errors.New("write Ignition config: Ignition refuses the merged documents; compare them with its specification")
}

// pruneEmpty removes empty objects, which the encoder writes for unset fields.
// It keeps objects in lists.
func pruneEmpty(v any) (empty bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if pruneEmpty(field) {
				delete(v, name)
			}
		}
		return len(v) == 0
	case []any:
		for _, item := range v {
			pruneEmpty(item)
		}
	}
	return false
}

func withText(object any, name, value string) map[string]any {
	fields, ok := object.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields[name] = value
	return fields
}

package modules

import (
	"reflect"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/tasks"
)

// A play uses the same probes as other commands. So status and plan have the same
// facts.
func TestPlaysLookAtTheSame(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &resource.Config{}}
	probes := func(modules []engine.Module) (list []engine.Command) {
		for _, m := range modules {
			if m.Observer != nil {
				list = append(list, m.Observer.Probe(d)...)
			}
		}
		return list
	}
	if got, want := probes(tasks.ForPlay(engine.Play{})), probes(All()); !reflect.DeepEqual(got, want) {
		t.Errorf("%d probes, want %d", len(got), len(want))
	}
}

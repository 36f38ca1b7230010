package hostconfig

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// TestMovedResource checks that a file that becomes a drop-in, or the other way
// round, is no change, and that other contents are one change.
func TestMovedResource(t *testing.T) {
	const path = unitDir + "a.service.d/10-x.conf"
	text, mode := "[Service]\nEnvironment=A=b\n", 0o644
	file := func(text string) resource.Config {
		return resource.Config{Files: []resource.File{{Path: path, Contents: []byte(text), Mode: &mode, Owner: resource.Owner{User: "0", Group: "0"}}}}
	}
	dropins := func(list ...resource.Dropin) resource.Config {
		return resource.Config{Units: []resource.Unit{{Name: "a.service", Dropins: list}}}
	}
	other := resource.Dropin{Name: "20-y.conf", Contents: "[Unit]\n"}
	for name, tc := range map[string]struct {
		was, is resource.Config
		want    []string
	}{
		"file to drop-in":                {file(text), dropins(resource.Dropin{Name: "10-x.conf", Contents: text}), nil},
		"drop-in to file":                {dropins(resource.Dropin{Name: "10-x.conf", Contents: text}), file(text), nil},
		"file to drop-in, other text":    {file(text), dropins(resource.Dropin{Name: "10-x.conf", Contents: "[Unit]\n"}), []string{"unit a.service"}},
		"one of two drop-ins to file":    {dropins(resource.Dropin{Name: "10-x.conf", Contents: text}, other), resource.Config{Files: file(text).Files, Units: dropins(other).Units}, nil},
		"file to drop-in beside another": {resource.Config{Files: file(text).Files, Units: dropins(other).Units}, dropins(resource.Dropin{Name: "10-x.conf", Contents: text}, other), nil},
	} {
		t.Run(name, func(t *testing.T) {
			was, _ := tc.was.Compact()
			is, contents := tc.is.Compact()
			f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
				Applied: &resource.Record{Schema: resource.RecordSchema, Config: was},
				Nodes: map[string]resource.PathFacts{
					path:                              {Type: resource.PathFile, Digest: resource.Digest([]byte(text)), Mode: 0o644},
					unitDir + "a.service.d/20-y.conf": {Type: resource.PathFile, Digest: resource.Digest([]byte(other.Contents)), Mode: 0o644},
				},
				Units: map[string]string{"a.service": "enabled"},
			}}
			list, err := findChanges(engine.Desired{Config: &is, Contents: contents}, f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range list {
				if c.Resource != engine.RecordResource {
					got = append(got, c.Resource)
				}
			}
			if len(got) != len(tc.want) || len(got) > 0 && got[0] != tc.want[0] {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

package butane

import (
	"fmt"
	"strings"
	"testing"
)

func TestLatestShapes(t *testing.T) {
	for _, variant := range variants {
		_, latest := stableVersions(variant)
		want := fmt.Sprintf("/%s/v%d_%d", variant, latest.Major, latest.Minor)
		if shape := latestShapes[variant]; shape == nil || !strings.HasSuffix(shape.PkgPath(), want) {
			t.Errorf("the latest version of %s is %s; latestShapes has %v", variant, latest, shape)
		}
	}
}

func TestExplainUnknownField(t *testing.T) {
	for _, c := range []struct {
		path []any
		want string
	}{
		{[]any{"storag"}, "is not a field of Butane's specification; did you mean storage?"},
		{[]any{"storage", "files", 3, "contents", "inlien"}, "is not a field of Butane's specification; did you mean inline?"},
		{[]any{"systemd", "units", 0, "content"}, "is not a field of Butane's specification; did you mean contents?"},
		{[]any{"passwd", "users", 0, "ssh-authorized-keys"}, "is not a field of Butane's specification; did you mean ssh_authorized_keys?"},
		{[]any{"boot_device", "luks", "cex"}, "is not a field of this version of Butane's specification; use version 1.7.0"},
		{[]any{"something"}, "is not a field of Butane's specification; correct its name or remove it"},
		{[]any{"nothing", "like", 1, "this"}, "is not a field of Butane's specification; correct its name or remove it"},
	} {
		if got := ExplainUnknownField("fcos", c.path); got != c.want {
			t.Errorf("%v: %s", c.path, got)
		}
	}
}

package observe_test

import (
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/hostconfig/observe/observetest"
)

// TestParents checks the facts about directories: which links the OS has, what is
// in the way of a path, and where nobody can write.
func TestParents(t *testing.T) {
	s := observetest.NewHost(t)
	s.Link("/home", "var/home")
	s.Link("/usr/local", "../var/usrlocal")
	s.Link("/odd name", "var/x")
	s.WriteFile("/var/home/core/x", "", 0o644)
	s.WriteFile("/var/usrlocal/x", "", 0o644)
	s.WriteFile("/etc/app", "a file\n", 0o644)
	s.Link("/etc/link", "/var/elsewhere")
	var c resource.Config
	for _, p := range []string{"/etc/app/a/b", "/etc/new/a", "/etc/link/a", "/home/core/y", "/usr/share/x", "/usr/local/x", "/data/x"} {
		c.Files = append(c.Files, observetest.EmptyFile(p))
	}
	d := engine.Desired{Config: &c}
	o := s.Probe(d)
	answer := o[observe.ProbeName]
	answer.Stdout = strings.Replace(answer.Stdout, "== readonly\n", "== readonly\n.\n./usr\n", 1)
	o[observe.ProbeName] = answer
	f := observe.Read(d, o, engine.Facts{}).Config
	for _, tc := range []struct{ got, want any }{
		{f.Problem, ""},
		{f.OSLinks, resource.Links{"/home": "/var/home", "/usr/local": "/var/usrlocal"}},
		{f.Links, map[string]string{"/etc/link": "/var/elsewhere"}},
		{f.Blocked, map[string]string{"/etc/app/a/b": "/etc/app"}},
		{f.ReadOnly, map[string]string{"/usr/share/x": "/usr", "/data/x": "/"}},
	} {
		if !reflect.DeepEqual(tc.got, tc.want) {
			t.Errorf("got %v, want %v", tc.got, tc.want)
		}
	}
}

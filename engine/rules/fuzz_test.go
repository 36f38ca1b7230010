package rules

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// FuzzRegistries compares any two texts as registries.conf. A valid file that
// does not change never causes a drain, and each decision has a reason.
func FuzzRegistries(f *testing.F) {
	for _, tc := range registriesCases {
		was, is := registriesFile(tc.old), registriesFile(tc.new)
		if was != nil && is != nil {
			f.Add(string(was.Contents), string(is.Contents))
		}
	}
	f.Fuzz(func(t *testing.T, old, new string) {
		_, broken := parseRegistries([]byte(old))
		if why := unsafeReason([]byte(old), []byte(old), false); (why == "") != (broken == "") {
			t.Errorf("compared with itself: %q, and by itself: %q", why, broken)
		}
		v := decision{actions: reloadCrio}.withDrainIfUnsafe(registriesChange{was: &resource.File{Contents: []byte(old)}, is: &resource.File{Contents: []byte(new)}})
		drains := v.actions[0].Type == engine.DrainAction
		if drains != strings.HasPrefix(v.why, "drain first: ") || v.why == "drain first: " {
			t.Errorf("%v because %q", v.actions, v.why)
		}
	})
}

// FuzzPolicyPath decides about any path with any rule. Network configuration
// always reboots, and the rule of the decision covers the path.
func FuzzPolicyPath(f *testing.F) {
	f.Add("/etc/foo", "/etc/*", "/etc/foo/bar")
	f.Add("/", "/etc/[N]*", "/etc/NetworkManager/x")
	f.Fuzz(func(t *testing.T, p, glob, name string) {
		policy, err := NewPolicy([]Rule{onPath(p, "none"), onGlob(glob, "none")})
		if err != nil {
			t.Skip()
		}
		v := policy.decidePath(name)
		if networkTree(name) != "" && (len(v.actions) != 2 || v.rank != fixedRank) {
			t.Errorf("%q: %+v", name, v)
		}
		if v.rule == "policy: path "+policy.rules[0].Path && !strings.HasPrefix(name, policy.rules[0].Path) {
			t.Errorf("%q: %+v", name, v)
		}
	})
}

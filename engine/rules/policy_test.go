package rules

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

func TestPolicyIsChecked(t *testing.T) {
	for _, tc := range []struct {
		name string
		rule Rule
		want string // "": the rule is valid
	}{
		{"path", onPath("/etc/foo", "reload a"), ""},
		{"slash at the end", onPath("/etc/foo/", "none"), ""},
		{"everything", onPath("/", "none"), ""},
		{"unknown action", onPath("/etc/foo", "frobnicate"), ""},
		{"nmstate/openshift", onPath("/etc/nmstate/openshift", "none"), ""},
		{"glob around network configuration", onGlob("/etc/*", "none"), ""},
		{"NetworkManager", onPath("/etc/NetworkManager", "none"), "no policy can weaken that"},
		{"below NetworkManager", onPath("/etc/NetworkManager/conf.d", "reload NetworkManager"), "no policy can weaken that"},
		{"nmstate", onPath("/etc/nmstate/", "none"), "no policy can weaken that"},
		{"glob in nmstate", onGlob("/etc/nmstate/*.yml", "none"), "no policy can weaken that"},
		{"glob in NetworkManager", onGlob("/etc/NetworkManager/*/x", "none"), "no policy can weaken that"},
		{"nothing to match", Rule{Actions: noActions}, "one of path, glob and unit"},
		{"two things to match", Rule{Path: "/a", Unit: "a.service", Actions: noActions}, "one of path, glob and unit"},
		{"relative", onPath("etc/foo", "none"), "not an absolute path"},
		{"dots", onPath("/etc/../foo", "none"), "not an absolute path"},
		{"bad pattern", onGlob("/etc/[a", "none"), "not a pattern"},
		{"bad unit", onUnit("a b.service", "none"), "not the name of a unit"},
		{"unit with the longest name", onUnit(strings.Repeat("a", 247)+".service", "none"), ""},
		{"unit with a longer name", onUnit(strings.Repeat("a", 248)+".service", "none"), "not the name of a unit"},
		{"no actions", Rule{Path: "/a"}, "has no actions"},
		{"none and more", onPath("/a", "none, reload a"), "none beside other actions"},
		{"reload what", onPath("/a", "reload"), "reload needs the name of a unit"},
		{"an option for a unit", onPath("/a", "restart --now"), "restart needs the name of a unit"},
		{"drain what", onPath("/a", "drain a"), "drain takes no unit"},
		{"timeout", Rule{Path: "/a", Actions: noActions, Timeout: -1}, "negative timeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewPolicy([]Rule{tc.rule})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	_, err := NewPolicy([]Rule{onPath("/etc/a", "none"), onPath("/etc/a/", "none"), onPath("b", "none")})
	if err == nil || !strings.Contains(err.Error(), "twice") || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("not everything that is wrong is said: %v", err)
	}
}

// No rule that NewPolicy accepts removes a drain or a reboot from a fixed
// decision.
func TestNoPolicyWeakensRuleOne(t *testing.T) {
	old := side{}.buildConfig()
	for _, change := range []func(*resource.Config){
		setOSImage("i"), addKargs("a"), setKernelType("realtime"), setExtensions("a"), setExtensionsImage("e"), dropKargs("a"),
		addFile("/etc/NetworkManager/a", ""), addFile("/etc/nmstate/a", ""), addDirectory("/etc/NetworkManager", 0o755), addLink("/etc/nmstate/l", "x"),
	} {
		for _, r := range []Rule{
			onPath("/", "none"), onPath("/etc", "none"), onGlob("/*", "none"), onGlob("/etc/N*", "none"), onGlob("/etc/*/*", "none"),
			onGlob("/etc/[N]etworkManager", "none"), onGlob("/etc/nmstat?", "none"), onUnit("NetworkManager.service", "none"), onUnit("os", "none"),
		} {
			p, err := NewPolicy([]Rule{r})
			if err != nil {
				t.Fatal(err)
			}
			d, err := Compare(old, side{change}.buildConfig(), p)
			if err != nil {
				t.Fatal(err)
			}
			if got := joinNames(d.Actions); got != "drain, reboot" || !strings.HasPrefix(d.Changes[0].Rule, "fixed: ") {
				t.Errorf("%s: %+v gives %s", r, d.Changes, got)
			}
		}
	}
}

func TestTimeoutIsTheLongest(t *testing.T) {
	a, b := onPath("/etc/a", "restart x"), onPath("/etc/b", "restart x")
	a.Timeout, b.Timeout = 10, 20
	p, err := NewPolicy([]Rule{a, b})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Compare(resource.Config{}, side{addFile("/etc/a", ""), addFile("/etc/b", "")}.buildConfig(), p)
	if err != nil {
		t.Fatal(err)
	}
	want := []Action{{Action: engine.Action{Type: engine.RestartUnit, Unit: "x.service"}, Rules: []string{"policy: path /etc/a", "policy: path /etc/b"}, Timeout: 20}}
	if !reflect.DeepEqual(d.Actions, want) {
		t.Errorf("got %+v", d.Actions)
	}
}

func TestNewInstallationIsRefused(t *testing.T) {
	disk := func(name, digest string, line int) func(*resource.Config) {
		return func(c *resource.Config) {
			c.Fixed = append(c.Fixed, resource.Fixed{Name: name, Digest: digest, From: resource.SourcePosition{File: "x.bu", Line: line, Column: 2}})
		}
	}
	_, err := Compare(side{disk("a", "1", 1), disk("b", "1", 2), disk("c", "1", 3)}.buildConfig(), side{disk("d", "1", 4), disk("b", "2", 5), disk("a", "1", 6)}.buildConfig(), Policy{})
	var refused *refusedChanges
	if !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	want := "x.bu:3:2: c: was removed\nx.bu:4:2: d: is new\nx.bu:5:2: b: changed since"
	var got []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		got = append(got, line[:len(strings.Split(want, "\n")[len(got)])])
	}
	if strings.Join(got, "\n") != want {
		t.Errorf("got %v", err)
	}
	if _, err := Compare(side{disk("a", "1", 1)}.buildConfig(), side{disk("a", "1", 9)}.buildConfig(), Policy{}); err != nil {
		t.Errorf("the same disk is refused: %v", err)
	}
}

// The compared values may be secret, so the result contains none of them.
func TestNothingSecretIsShown(t *testing.T) {
	const secret = "hunter2"
	old := side{addFile("/etc/a", secret+"1"), addFile(reg, "location = '"+secret+"'"), addUser("core", secret+"1", secret+"k1"), addUnit("a.service", secret+"1"), addGroup(resource.Group{Name: "g", PasswordHash: secret + "1"})}
	new := side{addFile("/etc/a", secret+"2"), addFile(reg, secret), addUser("core", secret+"2", secret+"k2"), addUnit("a.service", secret+"2"), addGroup(resource.Group{Name: "g", PasswordHash: secret + "2"})}
	d, err := Compare(old.buildConfig(), new.buildConfig(), Policy{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Changes {
		if strings.Contains(c.Name+c.Rule+c.Reason, secret) {
			t.Errorf("%s %s shows it: %s", c.Kind, c.Name, c.Reason)
		}
	}
	if len(d.Changes) != 5 {
		t.Errorf("%d changes", len(d.Changes))
	}
}

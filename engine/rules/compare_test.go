package rules

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// side builds one of the two configurations of a case.
type side []func(*resource.Config)

func (s side) buildConfig() resource.Config {
	var c resource.Config
	for _, f := range s {
		f(&c)
	}
	return c
}

func addFile(path, contents string) func(*resource.Config) {
	return func(c *resource.Config) {
		mode := 0o644
		c.Files = append(c.Files, resource.File{Path: path, Contents: []byte(contents), Mode: &mode, Owner: resource.Owner{User: "0", Group: "0"}})
	}
}

func addFileAs(path string, mode int, owner, group string) func(*resource.Config) {
	return func(c *resource.Config) {
		c.Files = append(c.Files, resource.File{Path: path, Contents: []byte("same"), Mode: &mode, Owner: resource.Owner{User: owner, Group: group}})
	}
}

func addAppendedFile(path, text string) func(*resource.Config) {
	return func(c *resource.Config) {
		c.Files = append(c.Files, resource.File{Path: path, Inherit: true, Append: []byte(text)})
	}
}

func addDirectory(path string, mode int) func(*resource.Config) {
	return func(c *resource.Config) {
		c.Directories = append(c.Directories, resource.Directory{Path: path, Mode: &mode})
	}
}

func addLink(path, target string) func(*resource.Config) {
	return func(c *resource.Config) {
		c.Links = append(c.Links, resource.Link{Path: path, Target: target})
	}
}

func addUnit(name, contents string) func(*resource.Config) {
	return func(c *resource.Config) { c.Units = append(c.Units, resource.Unit{Name: name, Contents: contents}) }
}

func addWholeUnit(u resource.Unit) func(*resource.Config) {
	return func(c *resource.Config) { c.Units = append(c.Units, u) }
}

func addUser(name, hash string, keys ...string) func(*resource.Config) {
	return func(c *resource.Config) {
		c.Users = append(c.Users, resource.User{Name: name, PasswordHash: hash, SSHKeys: keys})
	}
}

func addWholeUser(u resource.User) func(*resource.Config) {
	return func(c *resource.Config) { c.Users = append(c.Users, u) }
}

func addGroup(g resource.Group) func(*resource.Config) {
	return func(c *resource.Config) { c.Groups = append(c.Groups, g) }
}

func setOSImage(image string) func(*resource.Config) {
	return func(c *resource.Config) { c.OSImage = image }
}

func addKargs(list ...string) func(*resource.Config) {
	return func(c *resource.Config) { c.KernelArgs = append(c.KernelArgs, list...) }
}

func dropKargs(list ...string) func(*resource.Config) {
	return func(c *resource.Config) { c.NoKernelArgs = append(c.NoKernelArgs, list...) }
}

func setExtensions(list ...string) func(*resource.Config) {
	return func(c *resource.Config) { c.Extensions = list }
}

func setExtensionsImage(image string) func(*resource.Config) {
	return func(c *resource.Config) { c.ExtensionsImage = image }
}

func setKernelType(t string) func(*resource.Config) {
	return func(c *resource.Config) { c.KernelType = t }
}

// parseActions reads "reload crio.service, restart x.service".
func parseActions(text string) []engine.Action {
	var list []engine.Action
	for part := range strings.SplitSeq(text, ", ") {
		kind, unit, _ := strings.Cut(part, " ")
		list = append(list, engine.Action{Type: engine.ActionType(kind), Unit: unit})
	}
	return list
}

func onPath(p, acts string) Rule { return Rule{Path: p, Actions: parseActions(acts)} }

func onGlob(g, acts string) Rule { return Rule{Glob: g, Actions: parseActions(acts)} }

func onUnit(u, acts string) Rule { return Rule{Unit: u, Actions: parseActions(acts)} }

// testCase has two configurations, with the expected changes and actions.
type testCase struct {
	name     string
	old, new side
	policy   []Rule
	changes  string // lines of "verb domain name <rule>"
	actions  string // in execution order
}

func (tc testCase) check(t *testing.T) {
	t.Helper()
	policy, err := NewPolicy(tc.policy)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Compare(tc.old.buildConfig(), tc.new.buildConfig(), policy)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range d.Changes {
		got = append(got, fmt.Sprintf("%s %s %s <%s>", c.Verb, c.Kind, c.Name, c.Rule))
	}
	if changes := strings.Join(got, "\n"); changes != strings.Join(trimLines(tc.changes), "\n") {
		t.Errorf("changes:\n%s\nwant:\n%s", changes, strings.Join(trimLines(tc.changes), "\n"))
	}
	if list := joinNames(d.Actions); list != tc.actions {
		t.Errorf("actions: %s\nwant:    %s", list, tc.actions)
	}
	if d.Equal() != (tc.changes == "") {
		t.Errorf("Equal is %t", d.Equal())
	}
	everyActionHasRules(t, d)
}

func trimLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func joinNames(list []Action) string {
	var out []string
	for _, a := range list {
		out = append(out, strings.TrimSpace(string(a.Type)+" "+a.Unit))
	}
	return strings.Join(out, ", ")
}

// everyActionHasRules checks that every action except "none" names its rules,
// and that each of these rules is the rule of a change.
func everyActionHasRules(t *testing.T, d Diff) {
	t.Helper()
	known := map[string]bool{}
	for _, c := range d.Changes {
		known[c.Rule] = true
	}
	for _, a := range d.Actions {
		if (len(a.Rules) == 0) != (a.Type == engine.NoAction) {
			t.Errorf("%s has the rules %q", a.Type, a.Rules)
		}
		for _, r := range a.Rules {
			if !known[r] {
				t.Errorf("%s has the rule %q, which no change has", a.Type, r)
			}
		}
	}
}

func TestChangesToActions(t *testing.T) {
	total := 0
	for _, set := range [][]testCase{fixedCases, builtinCases, pathCases, policyCases, unitCases, userCases, orderCases} {
		for _, tc := range set {
			total++
			t.Run(tc.name, tc.check)
		}
	}
	if total+len(registriesCases) < 80 {
		t.Errorf("only %d cases", total+len(registriesCases))
	}
}

// The same changes lead to the same actions in the same order, in whatever
// order the configurations list their elements.
func TestOrderIsStable(t *testing.T) {
	var old, new side
	for _, set := range [][]testCase{builtinCases, unitCases, userCases} {
		for i, tc := range set {
			if i%2 == 0 { // each path once
				old, new = append(old, tc.old...), append(new, tc.new...)
			}
		}
	}
	policy, err := NewPolicy([]Rule{
		onPath("/etc/a", "restart b, restart a, reload c"), onGlob("/etc/b*", "daemon-reload, restart a"), onUnit("z.service", "reload z, reload c"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, extra := range []side{
		{addFile("/etc/a/1", "x"), addFile("/etc/bb", "x"), addUnit("z.service", "x")},
		{addKargs("nosmt"), addFile("/etc/unknown", "x")},
	} {
		a, b := dropDuplicates(old.buildConfig()), dropDuplicates(append(new[:len(new):len(new)], extra...).buildConfig())
		want, err := Compare(a, b, policy)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			got, err := Compare(shuffleConfig(a, random), shuffleConfig(b, random), policy)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %+v\nwant %+v", got, want)
			}
		}
	}
}

// dropDuplicates removes elements that two cases have in common.
func dropDuplicates(c resource.Config) resource.Config {
	c.Files = keepFirst(c.Files, func(f resource.File) string { return f.Path })
	c.Units = keepFirst(c.Units, func(u resource.Unit) string { return u.Name })
	c.Users = keepFirst(c.Users, func(u resource.User) string { return u.Name })
	c.Groups = keepFirst(c.Groups, func(g resource.Group) string { return g.Name })
	return c
}

func keepFirst[T any](list []T, key func(T) string) []T {
	seen := map[string]bool{}
	var out []T
	for _, x := range list {
		if !seen[key(x)] {
			out = append(out, x)
		}
		seen[key(x)] = true
	}
	return out
}

func shuffleConfig(c resource.Config, random *rand.Rand) resource.Config {
	c.Files = shuffleList(c.Files, random)
	c.Directories = shuffleList(c.Directories, random)
	c.Links = shuffleList(c.Links, random)
	c.Units = shuffleList(c.Units, random)
	c.Users = shuffleList(c.Users, random)
	c.Groups = shuffleList(c.Groups, random)
	c.Extensions = shuffleList(c.Extensions, random)
	c.NoKernelArgs = shuffleList(c.NoKernelArgs, random)
	return c
}

func shuffleList[T any](list []T, random *rand.Rand) []T {
	list = append([]T(nil), list...)
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

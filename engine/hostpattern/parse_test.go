package hostpattern_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/hostpattern"
	"holdfast/engine/textutil"
)

// patternSite returns hosts with similar names.
func patternSite() engine.Inventory {
	var inv engine.Inventory
	add := func(name, pool, zone, cluster string) {
		inv.Hosts = append(inv.Hosts, engine.Host{Name: name, Pool: pool, Zone: zone, Cluster: cluster})
	}
	for i := range 3 {
		add(fmt.Sprintf("etcd-%d", i), "etcd", fmt.Sprintf("rack-%c", 'a'+i), "main")
	}
	for i := 1; i <= 12; i++ {
		add(fmt.Sprintf("w-%02d", i), "worker", fmt.Sprintf("rack-%c", 'a'+i%2), "")
	}
	add("w-007", "worker", "rack-c", "")
	add("w-7", "worker", "rack-c", "")
	add("w-a", "odd", "", "")
	add("w-b.example", "odd", "", "")
	return inv
}

func TestPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		"w-01":                     "w-01",
		"etcd":                     "etcd-0 etcd-1 etcd-2",
		"etcd-[0:1]":               "etcd-0 etcd-1",
		"w-[01:02]":                "w-01 w-02",
		"w-[6-8]":                  "w-7",
		"w-[06-08]":                "w-06 w-07 w-08",
		"w-[001-010]":              "w-007",
		"w-[01-03,07]":             "w-01 w-02 w-03 w-07",
		"w-[01,03]":                "w-01 w-03",
		"w-[01, 03:04]":            "w-01 w-03 w-04",
		"w-[a-b]":                  "w-a",
		"w-[ab]*":                  "w-a w-b.example",
		"w-?":                      "w-7 w-a",
		"etcd-0,etcd-2":            "etcd-0 etcd-2",
		"etcd-0:etcd-2":            "etcd-0 etcd-2",
		"all:!worker:!odd":         "etcd-0 etcd-1 etcd-2",
		"!worker,!odd":             "etcd-0 etcd-1 etcd-2",
		"*:&zone=rack-a:!worker":   "etcd-0",
		"&zone=rack-a:&etcd":       "etcd-0",
		"cluster=main:!~etcd-[01]": "etcd-2",
		"etcd_cluster=m*":          "etcd-0 etcd-1 etcd-2",
		"pool=od?":                 "w-a w-b.example",
		"~w-0[1-2]$":               "w-01 w-02",
		" etcd-0 , etcd-1 ":        "etcd-0 etcd-1",
	} {
		if got, err := chooseHosts(pattern, patternSite()); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", pattern, got, err, want)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"nosuch":       `"nosuch" matches no host and no pool`,
		"etcd:nosuch":  `"nosuch" matches no host`,
		"etcd:!nosuch": `"nosuch" matches no host`,
		"etcd:!etcd":   `"etcd:!etcd" leaves no host`,
		"w-[3:1]":      "a range is written",
		"w-[1:]":       "a range is written",
		"w-[1:2:3]":    "a range is written",
		"w-[1,]":       "a range is written",
		"w-[40:50]":    "matches no host",
		"wroker":       `"wroker" matches no host and no pool of the inventory; did you mean "worker"?`,
		"rack=a":       "hosts can be chosen by pool=, zone= and cluster=",
		"~[":           "missing closing",
		"w-[a":         "syntax error in pattern",
		"zone=nowhere": "matches no host",
		"worker:&etcd": "leaves no host",
	} {
		if got, err := chooseHosts(pattern, patternSite()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v; want an error with %s", pattern, got, err, want)
		}
	}
}

// TestPatternReadsBack checks that the pattern that FoldNames returns for some
// hosts matches exactly these hosts.
func TestPatternReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var inv engine.Inventory
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab](-[0-9]{1,3})?(\.x)?`), 1, 30, rapid.ID).Draw(t, "names")
		for _, n := range names {
			inv.Hosts = append(inv.Hosts, engine.Host{Name: n, Pool: "pool"})
		}
		some := names[:rapid.IntRange(1, len(names)).Draw(t, "some")]
		want := slices.Sorted(slices.Values(some))
		pattern := strings.Join(textutil.FoldNames(some), ",")
		if got, err := chooseHosts(pattern, inv); err != nil || got != strings.Join(want, " ") {
			t.Fatalf("%s: %s, %v; want %s", pattern, got, err, want)
		}
	})
}

func chooseHosts(pattern string, inv engine.Inventory) (string, error) {
	match, err := hostpattern.Parse(pattern, inv)
	if err != nil {
		return "", err
	}
	var names []string
	for _, h := range inv.Hosts {
		if match(h) {
			names = append(names, h.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " "), nil
}

// TestPatternOfNothing checks that a pattern without terms is an error. A
// script with empty variables could pass one.
func TestPatternOfNothing(t *testing.T) {
	inv := engine.Inventory{Hosts: []engine.Host{{Name: "a"}, {Name: "b"}}}
	for _, pattern := range []string{"", ",", " ", ":", "~", "!", "&", "a,~"} {
		if _, err := hostpattern.Parse(pattern, inv); err == nil || !strings.Contains(err.Error(), "all names every") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

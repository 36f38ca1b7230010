package draft_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/ansible"
	"holdfast/engine/draft"
	"holdfast/engine/hostpattern"
)

// TestParents checks the remarks about groups that contain groups.
func TestParents(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an empty group":       {"[k8s:children]\nnode\ncalico_rr\n[node]\nn-[1:3]\n[calico_rr]\n", "hosts:1:1: group k8s only contains groups, and is not taken over; select its hosts with -l 'node'"},
		"nested":               {"[eu:children]\nde\n[de:children]\nfra\nber\n[fra]\nf1\n[ber]\nb1\n", "hosts:1:1: group eu only contains groups, and is not taken over; select its hosts with -l 'fra:ber'\nhosts:2:1: group de only contains groups, and is not taken over; select its hosts with -l 'fra:ber'"},
		"no host at all":       {"a\n[site:children]\nempty\n[empty]\n", "hosts:2:1: group site only contains groups, and is not taken over; none of its hosts is taken over"},
		"hosts and groups":     {"[prod]\np1\n[prod:children]\nweb\n[web]\nw1\nw2\n", "hosts:1:1: pool prod has only hosts that group prod lists itself, not all hosts of the groups in it; select its hosts with -l 'prod:web'"},
		"all hosts itself":     {"[prod]\nw1\nw2\n[prod:children]\nweb\n[web]\nw1\n", "hosts:2:1: w1: pool prod; not in web, because a host has one pool: the first group in the file that lists it"},
		"hosts in other pools": {"[web]\nw1\nw2\n[prod]\nw1\n[prod:children]\ndb\n[db]\nd1\n", "hosts:2:1: w1: pool web; not in prod, because a host has one pool: the first group in the file that lists it\nhosts:4:1: group prod becomes no pool, because its hosts are in other pools; select its hosts with -l 'db:w1'"},
		"a host like a pool":   {"[web]\nw1\n[other]\nweb\n[site:children]\nweb\n", "hosts:5:1: group site only contains groups, and is not taken over; no short pattern selects its hosts"},
		"another name":         {"[a_b]\nW_1\nW_2\n[x]\nW_1\n[site:children]\nx\n", "hosts:2:1: host W_1 is named w-1: names have lower-case letters, digits, dot and dash\nhosts:3:1: host W_2 is named w-2: names have lower-case letters, digits, dot and dash\nhosts:2:1: w-1: pool a_b; not in x, because a host has one pool: the first group in the file that lists it\nhosts:6:1: group site only contains groups, and is not taken over; select its hosts with -l 'w-1'"},
	} {
		if got := strings.Join(readAnsible(t, c.text).Remarks, "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
	var many strings.Builder
	many.WriteString("[site:children]\n")
	for i := range 9 {
		fmt.Fprintf(&many, "g%[1]dx\n[g%[1]dx]\nh%[1]dx\n[site:children]\n", i)
	}
	want := "hosts:1:1: group site only contains groups, and is not taken over; no short pattern selects its hosts"
	if got := strings.Join(readAnsible(t, many.String()).Remarks, "\n"); got != want {
		t.Errorf("many groups: %s", got)
	}
}

var shownPattern = regexp.MustCompile(`^\S+ (?:group|pool) .*?(g\d).* -l '(.*)'$`)

// TestPatternsOfParents checks, for random groups, that each group that contains groups has a remark or is exactly its pool, and that
// a pattern selects exactly the hosts of its group, with and without an answer of the hosts.
func TestPatternsOfParents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const groups = 6
		hosts := []string{"h-1", "h-2", "h-3", "h-10", "H_4", "g1", "x"}
		var text strings.Builder
		members, isParent := make([]map[string]bool, groups), make([]bool, groups)
		for i := groups - 1; i >= 0; i-- {
			members[i] = map[string]bool{}
			fmt.Fprintf(&text, "[g%d]\n", i)
			for _, h := range rapid.SliceOfDistinct(rapid.SampledFrom(hosts), rapid.ID).Draw(t, "hosts") {
				fmt.Fprintln(&text, h)
				members[i][h] = true
			}
			fmt.Fprintf(&text, "[g%d:children]\n", i)
			for child := i + 1; child < groups; child++ {
				if rapid.IntRange(0, 2).Draw(t, "child") == 0 {
					fmt.Fprintf(&text, "g%d\n", child)
					isParent[i] = true
					maps.Copy(members[i], members[child])
				}
			}
		}
		s := draft.FromAnsible(parseAnsible(t, text.String()))
		s.Name = "berlin"
		if rapid.Bool().Draw(t, "look") {
			s.Found = map[string]draft.Found{}
			for _, h := range hosts {
				f := drawFound(t)
				f.Cluster = ""
				s.Found[strings.ToLower(strings.ReplaceAll(h, "_", "-"))] = f
			}
		}
		d, err := draft.Make(s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Hosts == 0 {
			return
		}
		inv := load(t, d.Text)
		for i := range groups {
			name := fmt.Sprintf("g%d", i)
			var want []string
			for _, h := range inv.Hosts {
				if members[i][h.Name] || h.Name == "h-4" && members[i]["H_4"] {
					want = append(want, h.Name)
				}
			}
			told := false
			for _, remark := range d.Remarks {
				told = told || strings.Contains(remark, "group "+name+" ")
				m := shownPattern.FindStringSubmatch(remark)
				if m == nil || !strings.Contains(remark, "group "+name+" ") {
					continue
				}
				match, err := hostpattern.Parse(m[2], inv)
				if err != nil {
					t.Fatalf("%s: %v", remark, err)
				}
				if got := selectNames(inv, match); !slices.Equal(got, want) {
					t.Fatalf("%s: selects %v, and the group has %v\n%s", remark, got, want, text.String())
				}
			}
			isPool := slices.Equal(want, selectNames(inv, func(h engine.Host) bool { return h.Pool == name || strings.HasPrefix(h.Pool, name+"-") }))
			if isParent[i] && !told && !isPool {
				t.Fatalf("group %s with %v has no remark: %q\n%s", name, want, d.Remarks, text.String())
			}
		}
	})
}

func parseAnsible(t interface{ Fatalf(string, ...any) }, text string) ansible.Inventory {
	inv, err := ansible.Read(ansible.Source{FS: fstest.MapFS{"hosts": {Data: []byte(text)}}, Name: "hosts"})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return inv
}

func selectNames(inv engine.Inventory, match func(engine.Host) bool) (names []string) {
	for _, h := range inv.Hosts {
		if match(h) {
			names = append(names, h.Name)
		}
	}
	return names
}

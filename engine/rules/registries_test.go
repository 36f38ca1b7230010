package rules

import (
	"strings"
	"testing"

	"holdfast/engine/resource"
)

// registriesCases test the conditions of a safe change one by one. drain is a
// part of the reason; "" means that the change is safe.
var registriesCases = []struct {
	name, old, new, drain string
}{
	{"identical", "search=a", "search=a", ""},
	{"comments and order of fields", "search=a\nreg x", "# hello\nreg x\nsearch=a", ""},
	{"search list appended", "search=a,b", "search=a,b,c", ""},
	{"search list added", "", "search=a", ""},
	{"search list reordered", "search=a,b", "search=b,a", "search-registries"},
	{"search list prepended", "search=a,b", "search=c,a,b", "search-registries"},
	{"search list shortened", "search=a,b", "search=a", "search-registries"},
	{"search list removed", "search=a", "", "search-registries"},
	{"registry added, digest-only by itself", "", "reg x\ndigest", ""},
	{"registry added, not digest-only", "", "reg x", "new registry x"},
	{"registry added, its mirrors digest-only", "", "reg x\nmir m1 digest-only\nmir m2 digest-only", ""},
	{"registry added, one mirror not digest-only", "", "reg x\nmir m1 digest-only\nmir m2", "mirror m2"},
	{"registry added, mirror tag-only", "", "reg x\nmir m1 tag-only", "mirror m1"},
	{"registry added, mirrors digest-only through the registry", "", "reg x\ndigest\nmir m1", "mirror m1"},
	{"registry removed", "reg x\ndigest\nreg y\ndigest", "reg y\ndigest", "registry x is gone"},
	{"registries in another order", "reg x\nreg y", "reg y\nreg x", ""},
	{"mirror added, digest-only", "reg x\nmir m1", "reg x\nmir m1\nmir m2 digest-only", ""},
	{"mirror added, not digest-only", "reg x\nmir m1", "reg x\nmir m1\nmir m2", "new mirror m2"},
	{"mirror added, digest-only through the registry", "reg x\ndigest\nmir m1", "reg x\ndigest\nmir m1\nmir m2", ""},
	{"first mirror, digest-only", "reg x", "reg x\nmir m1 digest-only", ""},
	{"mirror removed", "reg x\nmir m1\nmir m2", "reg x\nmir m2", "mirror m1 is gone"},
	{"mirrors in another order", "reg x\nmir m1\nmir m2", "reg x\nmir m2\nmir m1", ""},
	{"blocked", "reg x", "reg x\nblocked", "blocked changed"},
	{"no longer blocked", "reg x\nblocked", "reg x", "blocked changed"},
	{"insecure", "reg x", "reg x\ninsecure", "insecure changed"},
	{"no longer insecure", "reg x\ninsecure", "reg x", "insecure changed"},
	{"prefix", "reg x\nprefix p", "reg x\nprefix q", "registry p is gone"},
	{"prefix said that is the location", "reg x", "reg x\nprefix x", "prefix changed"},
	{"location, of a registry known by its prefix", "reg x\nprefix p", "reg y\nprefix p", "location changed"},
	{"location, of a registry known by it", "reg x", "reg y\ndigest", "registry x is gone"},
	{"pull-from-mirror to digest-only", "reg x\nmir m1", "reg x\nmir m1 digest-only", ""},
	{"pull-from-mirror from all to digest-only", "reg x\nmir m1 all", "reg x\nmir m1 digest-only", ""},
	{"pull-from-mirror from tag-only to digest-only", "reg x\nmir m1 tag-only", "reg x\nmir m1 digest-only", ""},
	{"pull-from-mirror from digest-only to all", "reg x\nmir m1 digest-only", "reg x\nmir m1 all", "pull-from-mirror"},
	{"pull-from-mirror from digest-only to unsaid", "reg x\nmir m1 digest-only", "reg x\nmir m1", "pull-from-mirror"},
	{"pull-from-mirror from all to tag-only", "reg x\nmir m1 all", "reg x\nmir m1 tag-only", "pull-from-mirror"},
	{"kept registry beside an added one", "search=a\nreg x\nmir m1", "search=a\nreg x\nmir m1\nreg y\nmir m2 digest-only", ""},
	{"was missing, and adds what is not safe", "missing", "reg x", "new registry x"},
	{"was missing, and adds what is safe", "missing", "reg x\ndigest", ""},
	{"goes, and named a registry", "reg x", "missing", "registry x is gone"},
	{"goes, and was empty", "", "missing", ""},
	{"was invalid", "invalid", "search=a", "before, the file is not valid TOML"},
	{"is invalid", "search=a", "invalid", "now the file is not valid TOML"},
	{"was in the old format", "v1", "search=a", "before, the file is in the old format"},
	{"is in the old format", "search=a", "v1", "now the file is in the old format"},
	{"a field in capitals", "", "Insecure", "lower case"},
	{"a field in letters that fold", "", "\"in\u017fecure\"", "lower case"},
	{"a registry twice", "reg x", "reg x\nreg x", "registry x is listed twice"},
	{"a registry twice, unchanged", "reg x\nreg x", "search=a\nreg x\nreg x", ""},
	{"a registry twice, and one of them goes", "reg x\nreg x\nblocked", "reg x", "registry x is listed twice"},
	{"a new registry twice", "", "reg x\ndigest\nreg x\ndigest", "registry x is listed twice"},
	{"a mirror twice, unchanged", "reg x\nmir m1 digest-only\nmir m1 all", "search=a\nreg x\nmir m1 digest-only\nmir m1 all", ""},
	{"a mirror twice, unchanged, and a safe one is added", "reg x\nmir m1 digest-only\nmir m1 all", "reg x\nmir m1 digest-only\nmir m1 all\nmir m2 digest-only", ""},
	{"a mirror twice, and one of them changes", "reg x\nmir m1 digest-only\nmir m1 all", "reg x\nmir m1 digest-only\nmir m1 tag-only", "mirror m1 is listed twice"},
	{"a mirror once more", "reg x\nmir m1", "reg x\nmir m1\nmir m1 tag-only", "mirror m1 is listed twice"},
	{"a registry without a location, unchanged", "reg \nprefix *.x", "search=a\nreg \nprefix *.x", ""},
	{"registry added, blocked", "", "reg x\nblocked\nmir m1 digest-only", "new registry x is blocked"},
	{"part of a blocked registry added", "reg x\nblocked", "reg x\nblocked\nreg x/y\ndigest", "new registry x/y lifts the block"},
	{"registry added, elsewhere", "", "reg y\nprefix x\ndigest", "new registry x pulls from another location"},
	{"registry added, insecure", "", "reg x\ninsecure\ndigest", "new registry x changes insecure"},
	{"part of a registry added, without its mirror", "reg x\nmir m1", "reg x\nmir m1\nreg x/y\nmir m2 digest-only", "new registry x/y takes the mirror m1/y"},
	{"part of a registry added, with its mirror", "reg x\nmir m1 digest-only", "reg x\nmir m1 digest-only\nreg x/y\nmir m1/y digest-only\nmir m2 digest-only", ""},
	{"part of a registry added, with its mirror for digests only", "reg x\nmir m1", "reg x\nmir m1\nreg x/y\nmir m1/y digest-only", "new registry x/y takes the mirror m1/y"},
	{"part of a registry without mirrors added", "reg x", "reg x\nreg x/y\nmir m2 digest-only", ""},
	{"part of a registry that is elsewhere added", "reg z\nprefix x", "reg z\nprefix x\nreg x/y\ndigest", "new registry x/y pulls from another location"},
	{"part of a registry that is elsewhere added, at its place there", "reg z\nprefix x", "reg z\nprefix x\nreg z/y\nprefix x/y\ndigest", ""},
	{"part of an insecure registry added", "reg x\ninsecure", "reg x\ninsecure\nreg x/y\ndigest", "new registry x/y changes insecure"},
	{"part of a wildcard added, without its mirror", "reg \nprefix *.x\nmir m1 digest-only", "reg \nprefix *.x\nmir m1 digest-only\nreg a.x\ndigest", "new registry a.x takes the mirror m1"},
	{"part of a registry by its port added", "reg x\nmir m1", "reg x\nmir m1\nreg x:5000\ndigest", "new registry x:5000 takes the mirror m1:5000"},
	{"a name that only begins alike added", "reg x\nmir m1", "reg x\nmir m1\nreg xy\ndigest", ""},
	{"wider registry added", "reg x/y\nmir m1", "reg x/y\nmir m1\nreg x\nmir m2 digest-only", ""},
	{"wildcard added", "reg x", "reg x\nreg \nprefix *.y\ndigest", ""},
	{"wildcard added within a wildcard", "reg \nprefix *.x", "reg \nprefix *.x\nreg \nprefix *.y.x\ndigest", "new registry *.y.x takes images from the registry *.x"},
	{"wildcard added around a host of one letter", "reg a.x", "reg a.x\nreg \nprefix *.x\ndigest", "new registry *.x takes images from the registry a.x"},
	{"wildcard added around a longer host", "reg aa.x", "reg aa.x\nreg \nprefix *.x\ndigest", ""},
	{"a wildcard and a host of one letter in another order", "reg a.x\nreg \nprefix *.x", "reg \nprefix *.x\nreg a.x", "order of the registries *.x and a.x"},
	{"part of a registry that is listed twice added", "reg x\nreg x\nmir m1", "reg x\nreg x\nmir m1\nreg x/y\ndigest", "new registry x/y is part of x, which is not the only entry"},
	{"slash at the end of a name", "reg x/\nmir m1/ digest-only", "reg x\nmir m1 digest-only", ""},
	{"mirror-by-digest-only goes", "reg x\ndigest\nmir m1", "reg x\nmir m1", "pull-from-mirror of mirror m1"},
	{"mirror-by-digest-only comes", "reg x\nmir m1", "reg x\ndigest\nmir m1", ""},
	{"insecure mirror", "reg x\nmir m1\nminsecure", "reg x\nmir m1", "insecure of mirror m1 changed"},
	{"a second registry to search, enforcing", "search=a\nmode enforcing", "search=a,b\nmode enforcing", "short-name-mode is enforcing"},
	{"short-name-mode", "search=a", "search=a\nmode enforcing", "short-name-mode, aliases"},
	{"an alias", "search=a", "search=a\nalias b", "short-name-mode, aliases"},
	{"another registry without a location", "reg \nprefix *.x\nmir m1", "reg \nprefix *.x", "mirror m1 is gone"},
}

// registriesFile writes TOML for the shorthand of a case, or returns nil if
// the file is missing.
func registriesFile(short string) *resource.File {
	var b strings.Builder
	search := ""
	for line := range strings.SplitSeq(short, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		list, ok := strings.CutPrefix(line, "search=")
		switch {
		case ok: // top-level fields come before all tables
			search += "unqualified-search-registries = [\"" + strings.ReplaceAll(list, ",", "\", \"") + "\"]\n"
		case kind == "missing":
			return nil
		case kind == "invalid":
			b.WriteString("[[registry")
		case kind == "v1":
			b.WriteString("[registries.search]\nregistries = [\"a\"]\n")
		case kind == "reg":
			b.WriteString("[[registry]]\nlocation = \"" + rest + "\"\n")
		case kind == "prefix":
			b.WriteString("prefix = \"" + rest + "\"\n")
		case kind == "digest":
			b.WriteString("mirror-by-digest-only = true\n")
		case kind == "blocked", strings.EqualFold(strings.Trim(kind, `"`), "insecure"):
			b.WriteString(kind + " = true\n")
		case kind == "minsecure":
			b.WriteString("insecure = true\n")
		case kind == "mode":
			search += "short-name-mode = \"" + rest + "\"\n"
		case kind == "alias":
			b.WriteString("[aliases]\n" + rest + " = \"example.com/" + rest + "\"\n")
		case kind == "mir":
			location, pull, ok := strings.Cut(rest, " ")
			b.WriteString("[[registry.mirror]]\nlocation = \"" + location + "\"\n")
			if ok {
				b.WriteString("pull-from-mirror = \"" + pull + "\"\n")
			}
		}
	}
	return &resource.File{Path: reg, Contents: []byte(search + b.String())}
}

func TestRegistriesConf(t *testing.T) {
	for _, tc := range registriesCases {
		t.Run(tc.name, func(t *testing.T) {
			was, is := registriesFile(tc.old), registriesFile(tc.new)
			v := decision{actions: reloadCrio}.withDrainIfUnsafe(registriesChange{was: was, is: is})
			want := "reload crio.service"
			if tc.drain != "" {
				want = "drain, " + want
			}
			var got []string
			for _, a := range v.actions {
				got = append(got, strings.TrimSpace(string(a.Type)+" "+a.Unit))
			}
			if strings.Join(got, ", ") != want || !strings.Contains(v.why, tc.drain) {
				t.Errorf("got %v (%s), want %s (%s)", got, v.why, want, tc.drain)
			}
			if tc.drain == "" && strings.Contains(v.why, "drain first") {
				t.Errorf("safe, and says %q", v.why)
			}
		})
	}
}

// A change is unsafe if the file depends on contents of the host that are not
// known.
func TestRegistriesConfOfTheHost(t *testing.T) {
	for _, inherited := range [][2]*resource.File{
		{{Path: reg, Inherit: true}, registriesFile("search=a")},
		{registriesFile("search=a"), {Path: reg, Inherit: true, Append: []byte("#")}},
	} {
		if v := (decision{actions: reloadCrio}).withDrainIfUnsafe(registriesChange{was: inherited[0], is: inherited[1]}); len(v.actions) != 2 {
			t.Errorf("no drain: %s", v.why)
		}
	}
}

// TestDeepRegistriesConf compares files whose keys have so many names that their parser would need memory for the square of
// their number. Such a file may be on a host.
func TestDeepRegistriesConf(t *testing.T) {
	deep := []byte("a" + strings.Repeat(".a", 200) + " = 1\n")
	if why := unsafeReason(deep, nil, false); why != "before, the file has values inside more than 100 others" {
		t.Errorf("was deep: %q", why)
	}
	if why := unsafeReason(nil, deep, false); why != "now the file has values inside more than 100 others" {
		t.Errorf("is deep: %q", why)
	}
}

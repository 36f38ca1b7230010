package hostconfig

import (
	"os"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// If a configuration appends to a file, holdfast owns only the appended text.
func TestOnlyWhatWasAppendedIsOurs(t *testing.T) {
	for name, c := range map[string]struct {
		host, base string // base "-": no original is kept
		was, want  string // appended texts; want "-": the file leaves the configuration
		after      string // contents; "-": the original is restored, or the file is removed
	}{
		"others add lines":              {host: "own\nours\nforeign\n", base: "own\n", was: "ours\n", want: "ours\n", after: "own\nours\nforeign\n"},
		"ours change in their place":    {host: "own\nours\nforeign\n", base: "own\n", was: "ours\n", want: "new\n", after: "own\nnew\nforeign\n"},
		"ours go":                       {host: "own\nours\nforeign\n", base: "own\n", was: "ours\n", want: "-", after: "own\nforeign\n"},
		"ours go, others added none":    {host: "own\nours\n", base: "own\n", was: "ours\n", want: "-", after: "-"},
		"a line of another ends alike":  {host: "own\nours\nnot ours\n", base: "own\n", was: "ours\n", want: "-", after: "own\nnot ours\n"},
		"the same line was there":       {host: "ours\nours\nforeign\n", base: "ours\n", was: "ours\n", want: "-", after: "ours\nforeign\n"},
		"the own ends without newline":  {host: "ownours\nforeign\n", base: "own", was: "ours\n", want: "-", after: "own\nforeign\n"},
		"ours was edited":               {host: "own\nedited\nforeign\n", base: "own\n", was: "ours\n", want: "ours\n", after: "own\nedited\nforeign\nours\n"},
		"the host's own was edited":     {host: "other\nours\nforeign\n", base: "own\n", was: "ours\n", want: "new\n", after: "other\nnew\nforeign\n"},
		"nothing was there before":      {host: "ours\nforeign\n", base: "-", was: "ours\n", want: "-", after: "foreign\n"},
		"nothing was there, none added": {host: "ours\n", base: "-", was: "ours\n", want: "-", after: "-"},
		"the own and ours end without":  {host: "own\nours\nforeign\n", base: "own", was: "ours", want: "-", after: "own\nforeign\n"},
		"ours changes, without newline": {host: "own\nours\nforeign\n", base: "own", was: "ours", want: "new", after: "own\nnew\nforeign\n"},
		"ours is new, all without":      {host: "own", base: "own", was: "", want: "ours", after: "own\nours\n"},
		"ours go, all without":          {host: "own\nours\n", base: "own", was: "ours", want: "-", after: "-"},
		"glued to the next line":        {host: "own\noursforeign\n", base: "own\n", was: "ours", want: "ours", after: "own\noursforeign\n"},
		"ours begins as the new one":    {host: "own\na\nb\nforeign\n", base: "own\n", was: "a\nb\n", want: "a\n", after: "own\na\nforeign\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := func(text string) resource.File {
				return resource.File{Path: "/etc/a", Inherit: true, Append: []byte(text), Base: resource.Digest([]byte(c.base))}
			}
			n := resource.PathFacts{Type: resource.PathFile, Mode: 0o644, Contents: []byte(c.host), Digest: resource.Digest([]byte(c.host))}
			facts := &resource.ConfigFacts{Applied: &resource.Record{Schema: resource.RecordSchema, Config: resource.Config{Files: []resource.File{file(c.was)}}}}
			if c.base != "-" {
				n.Base, facts.Saved = []byte(c.base), map[string]bool{"/etc/a": true}
			}
			facts.Nodes = map[string]resource.PathFacts{"/etc/a": n}
			d := engine.Desired{Config: &resource.Config{}}
			if c.want != "-" {
				f := file(c.want)
				f.Base = ""
				d.Config.Files = []resource.File{f}
			}
			x, err := newConfigDiff(d, engine.Facts{BootID: moduletest.Boot, Config: facts}, true)
			if err != nil {
				t.Fatal(err)
			}
			w := x.buildWrite(engine.Target{Desired: d, Facts: engine.Facts{BootID: moduletest.Boot, Config: facts}, Run: "r"})
			got := c.host
			for _, e := range w.edits {
				got = "-"
				if e.kind == resource.PathFile {
					got = string(w.data[e.data])
				}
			}
			if got != c.after {
				t.Errorf("it becomes %q, want %q", got, c.after)
			}
		})
	}
}

// If a file keeps lines of others after the appended text is removed, the file
// gets the mode of its original.
func TestARemainderHasTheModeOfItsOriginal(t *testing.T) {
	longtest.SkipSlow(t)
	for name, mode := range map[string]int{"of root": 0o600, "that its group may change": 0o660} {
		t.Run(name, func(t *testing.T) {
			b := newWriteBox(t)
			b.Put("/etc/a", "own\n", 0o640)
			appended := b.planWrite(contents{"/etc/a": "own\nours\n"}, testEdit{path: "/etc/a", kind: resource.PathFile, mode: mode, save: true})
			b.mustWrite(appended)
			b.Put("/etc/a", "own\nours\nforeign\n", os.FileMode(mode))
			b.mustWrite(b.planWrite(contents{"/etc/a": "own\nforeign\n"}, testEdit{path: "/etc/a", kind: resource.PathFile, mode: mode, restore: true}))
			if b.Read("/etc/a") != "own\nforeign\n" || b.Node("/etc/a").Mode != 0o640 || b.Exists("var/lib/holdfast/originals/%2Fetc%2Fa") {
				t.Errorf("%q %+v", b.Read("/etc/a"), b.Node("/etc/a"))
			}
		})
	}
}

// TestAppendedTextIsNotAppendedAgain checks that lines which others add later do not
// make a text look as if it were missing, also on a host that was provisioned with the
// text, where nothing else than the record tells where it begins.
func TestAppendedTextIsNotAppendedAgain(t *testing.T) {
	for name, c := range map[string]struct{ provisioned, text string }{
		"own without newline":    {"ownours\n", "ours\n"},
		"ours without newline":   {"own\nours", "ours"},
		"both without newline":   {"ownours", "ours"},
		"with newlines":          {"own\nours\n", "ours\n"},
		"written on a live host": {"own", "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			host, config := c.provisioned, resource.Config{Files: []resource.File{{Path: "/etc/a", Inherit: true, Append: []byte(c.text)}}}
			var applied *resource.Record
			for _, later := range []string{"", "later\n", "last\n"} {
				host += later
				before := host
				n := resource.PathFacts{Type: resource.PathFile, Mode: 0o644, Contents: []byte(host), Digest: resource.Digest([]byte(host))}
				f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Applied: applied, Nodes: map[string]resource.PathFacts{"/etc/a": n}}}
				d := engine.Desired{Config: &config}
				x, err := newConfigDiff(d, f, true)
				if err != nil {
					t.Fatal(err)
				}
				w := x.buildWrite(engine.Target{Desired: d, Facts: f, Run: "r"})
				for _, e := range w.edits {
					host = string(w.data[e.data])
				}
				if later != "" && host != before {
					t.Errorf("%q becomes %q", before, host)
				}
				_, after := x.buildRecords(engine.Target{Run: "r"})
				applied = &after
			}
		})
	}
}

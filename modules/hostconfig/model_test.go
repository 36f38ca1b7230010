package hostconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// modelHost is a host in memory. It carries out writes by the rules that pathEdit
// and unitEdit document.
type modelHost struct {
	nodes   map[string]resource.PathFacts
	saved   map[string]resource.PathFacts
	units   map[string]string
	applied *resource.Record
	boot    int // boots of the kernel
	soft    int // soft reboots since then
	data    map[string][]byte
	effect  map[string]resource.PathFacts // contents that have taken effect
	over    []string                      // originals that are not needed after the record is written
}

func (h *modelHost) gatherFacts() engine.Facts {
	saved, nodes := map[string]bool{}, maps.Clone(h.nodes)
	for p, original := range h.saved {
		saved[p] = true
		if n, ok := nodes[p]; ok {
			n.Base = original.Contents
			nodes[p] = n
		}
	}
	boot := resource.BootID(fmt.Sprint("boot-", h.boot))
	if h.soft > 0 {
		boot += resource.BootID(fmt.Sprint("+", h.soft))
	}
	return engine.Facts{BootID: boot, Config: &resource.ConfigFacts{
		Applied: h.applied, Nodes: nodes, Saved: saved, Units: maps.Clone(h.units),
	}}
}

// carryOut carries out a write up to a point. stop 0 is before everything; n is
// after the record of the unfinished write and n-1 edits; -1 is the end; -2 is
// before the restored originals are removed; -3 is before the record.
func (h *modelHost) carryOut(w hostWrite, stop int) {
	if stop == 0 {
		return
	}
	for _, p := range h.over {
		delete(h.saved, p)
	}
	h.over, h.data = nil, w.data
	for _, e := range w.edits {
		if _, kept := h.saved[e.path]; e.save && !kept {
			h.saved[e.path] = h.nodes[e.path]
		}
	}
	h.applied = decodeRecord(w.before)
	var over []string
	for i, e := range w.edits {
		if stop == i+1 {
			return
		}
		h.applyEdit(e)
		if e.restore {
			over = append(over, e.path)
		}
	}
	if stop > 0 {
		return
	}
	for _, u := range w.units {
		h.units[u.name] = map[string]string{"enable": "enabled", "disable": "disabled", "preset": "disabled"}[u.do]
	}
	if stop == -3 {
		return
	}
	h.applied, h.over = decodeRecord(w.after), over
	if stop == -1 {
		for _, p := range over {
			delete(h.saved, p)
		}
		h.over = nil
	}
}

func (h *modelHost) applyEdit(e pathEdit) {
	switch {
	case e.kind != resource.PathMissing:
		n := resource.PathFacts{Type: e.kind, Mode: max(0, e.mode)}
		if e.kind == resource.PathLink {
			n.Target = e.data
		} else {
			n.Digest = e.data
			n.Contents = h.data[e.data]
		}
		h.nodes[e.path] = n
	case e.restore:
		h.nodes[e.path] = h.saved[e.path]
	default:
		delete(h.nodes, e.path)
	}
}

// modelFiles are the paths of files and links. Only a full reboot brings the last one into effect.
var (
	modelFiles = []string{"/etc/a", "/etc/b", "/etc/none/c", "/etc/reload/d", "/etc/restart/e", keptByKernel}
	modelPaths = append(slices.Clone(modelFiles), "/etc/systemd/system/f.service")
)

const keptByKernel = "/etc/sysctl.d/g.conf"

func modelPolicy() []engine.Rule {
	unit := func(t engine.ActionType) []engine.Action { return []engine.Action{{Type: t, Unit: "x.service"}} }
	return []engine.Rule{
		{Path: "/etc/none", Actions: []engine.Action{{Type: engine.NoAction}}},
		{Path: "/etc/reload", Actions: unit(engine.ReloadUnit)},
		{Path: "/etc/restart", Actions: unit(engine.RestartUnit)},
	}
}

// anyConfig draws a configuration that has some of the paths, as files or links,
// and a unit.
func anyConfig(t *rapid.T, name string) resource.Config {
	var c resource.Config
	for _, p := range modelFiles {
		switch rapid.IntRange(0, 4).Draw(t, name+p) {
		case 0, 1:
			mode := rapid.SampledFrom([]int{0o600, 0o644}).Draw(t, "mode")
			data := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "data")
			c.Files = append(c.Files, resource.File{Path: p, Contents: []byte(data), Mode: &mode})
		case 2:
			c.Links = append(c.Links, resource.Link{Path: p, Target: "/etc/x"})
		}
	}
	if text := rapid.SampledFrom([]string{"", "+1\n", "+2\n"}).Draw(t, name+" appended"); text != "" {
		c.Files = append(c.Files, resource.File{Path: "/etc/appended", Inherit: true, Append: []byte(text)})
	}
	if rapid.Bool().Draw(t, name+" unit") {
		yes := rapid.Bool().Draw(t, "enabled")
		c.Units = append(c.Units, resource.Unit{Name: "f.service", Contents: rapid.SampledFrom([]string{"[Unit]\n", "[Service]\n"}).Draw(t, "unit"), Enabled: &yes})
	}
	compact, _ := c.Compact()
	return compact
}

// Runs are interrupted anywhere, and configurations change between them. The next
// complete run makes the host match, restores files from before holdfast that the
// configuration does not set, and leaves nothing to do.
func TestConfigConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &modelHost{nodes: map[string]resource.PathFacts{}, saved: map[string]resource.PathFacts{}, units: map[string]string{"f.service": "disabled"}}
		if rapid.Bool().Draw(t, "has a record") {
			h.applied = &resource.Record{Schema: resource.RecordSchema}
		}
		for _, p := range modelFiles {
			switch rapid.IntRange(0, 3).Draw(t, "host has "+p) {
			case 0:
				h.nodes[p] = resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte("host's own")), Mode: 0o640}
			case 1: // the host already has paths that may be desired later; without a record they count as provisioned
				if h.applied != nil {
					h.nodes[p] = resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte("1")), Mode: 0o600}
				}
			}
		}
		if rapid.Bool().Draw(t, "host has /etc/appended") {
			h.nodes["/etc/appended"] = resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte("own\n")), Mode: 0o640, Contents: []byte("own\n")}
		}
		own := maps.Clone(h.nodes)
		h.effect = maps.Clone(h.nodes)
		for i := range rapid.IntRange(1, 5).Draw(t, "runs") {
			name := fmt.Sprint("run ", i, " ")
			d := engine.Desired{Config: ptr(anyConfig(t, name)), Policy: modelPolicy()}
			h.runOnce(t, d, rapid.IntRange(-3, 7).Draw(t, name+"stop"))
			switch rapid.SampledFrom([]string{"none", "full", "soft"}).Draw(t, name+"reboot") {
			case "full":
				h.simulateReboot()
			case "soft":
				h.simulateSoftReboot()
			}
			if p := rapid.SampledFrom(modelFiles).Draw(t, name+"drift"); rapid.IntRange(0, 3).Draw(t, name+"drifts") == 0 && h.nodes[p].Type == resource.PathFile && h.applied != nil && h.applied.Unfinished == nil {
				if slices.ContainsFunc(h.applied.Config.Files, func(f resource.File) bool { return f.Path == p }) {
					h.nodes[p] = resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte("edited")), Mode: 0o644}
				}
			}
		}
		foreign := h.addForeignLine(t)
		d := engine.Desired{Config: ptr(anyConfig(t, "last ")), Policy: modelPolicy()}
		h.runOnce(t, d, -1)
		if changes, err := findChanges(d, h.gatherFacts()); err != nil || len(changes) > 0 {
			t.Fatalf("not done: %v %v", changes, err)
		}
		if i := slices.IndexFunc(d.Config.Files, func(f resource.File) bool { return f.Inherit }); i >= 0 {
			want := string(own["/etc/appended"].Contents) + string(d.Config.Files[i].Append)
			if n := h.nodes["/etc/appended"]; strings.Replace(string(n.Contents), foreign, "", 1) != want || !strings.Contains(string(n.Contents), foreign) {
				t.Fatalf("/etc/appended has %q, want %q", n.Contents, want)
			}
		} else if foreign != "" {
			if n := h.nodes["/etc/appended"]; string(n.Contents) != string(own["/etc/appended"].Contents)+foreign {
				t.Fatalf("/etc/appended has %q", n.Contents)
			}
		} else if n := h.nodes["/etc/appended"]; n.Digest != own["/etc/appended"].Digest {
			t.Fatalf("/etc/appended has %q", n.Contents)
		}
		wanted := entriesOf(*d.Config)
		for _, p := range modelPaths {
			i := slices.IndexFunc(wanted, func(e desiredEntry) bool { return e.path == p })
			n, was := h.nodes[p], own[p]
			if i < 0 && n.Type != was.Type || i < 0 && n.Digest != was.Digest {
				t.Fatalf("%s is %+v, and was %+v before holdfast", p, n, was)
			}
			if e := h.effect[p]; e.Type != n.Type || e.Digest != n.Digest || e.Mode != n.Mode {
				t.Fatalf("%s is %+v, and what has taken effect is %+v", p, n, e)
			}
			if i >= 0 && !wanted[i].matchesHost(h.nodes) {
				t.Fatalf("%s is %+v", p, n)
			}
		}
	})
}

// addForeignLine adds a line to the file that text is appended to, if the file
// exists and belongs to the host.
func (h *modelHost) addForeignLine(t *rapid.T) string {
	n := h.nodes["/etc/appended"]
	if n.Type != resource.PathFile || !rapid.Bool().Draw(t, "a foreign line") {
		return ""
	}
	const line = "foreign\n"
	n.Contents = append(slices.Clone(n.Contents), line...)
	n.Digest = resource.Digest(n.Contents)
	h.nodes["/etc/appended"] = n
	return line
}

func (h *modelHost) simulateReboot() {
	h.boot, h.soft = h.boot+1, 0
	h.effect = maps.Clone(h.nodes)
}

// simulateSoftReboot brings everything into effect but what the kernel keeps.
func (h *modelHost) simulateSoftReboot() {
	kept, set := h.effect[keptByKernel]
	h.soft++
	h.effect = maps.Clone(h.nodes)
	if delete(h.effect, keptByKernel); set {
		h.effect[keptByKernel] = kept
	}
}

// applyActions makes the changes of complete writes take effect.
func (h *modelHost) applyActions(x *configDiff) {
	for _, c := range x.diff.Changes {
		path := c.Name
		if c.Kind == engine.UnitKind {
			path = unitDir + path
		}
		if n, ok := h.nodes[path]; ok {
			h.effect[path] = n
		} else {
			delete(h.effect, path)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// runOnce plans one run and carries it out. Steps may reboot the host.
func (h *modelHost) runOnce(t *rapid.T, d engine.Desired, stop int) {
	changes, err := findChanges(d, h.gatherFacts())
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) == 0 {
		return
	}
	x, err := newConfigDiff(d, h.gatherFacts(), true)
	if err != nil {
		t.Fatal(err)
	}
	h.carryOut(x.buildWrite(engine.Target{Desired: d, Facts: h.gatherFacts(), Run: "r"}), stop)
	if stop < 0 {
		h.applyActions(x)
	}
}

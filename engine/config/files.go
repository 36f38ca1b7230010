package config

import (
	"path"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/validate"
	vpath "github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// Documents have thousands of files and few of everything else. The Ignition
// library reads, judges and merges by reflection, some fifty times as slowly,
// so that it is given all but the files. What it says of a file is asked of
// its own methods; what it says of files together is said here.

// filesOf reads storage.files, whose shape was checked.
func filesOf(n *node) []types.File {
	if n == nil || n.kind != listKind {
		return nil
	}
	files := make([]types.File, len(n.items))
	for i, item := range n.items {
		f := &files[i]
		f.Path, f.Overwrite = item.text("path"), item.truth("overwrite")
		f.User = types.NodeUser{ID: item.get("user").number("id"), Name: item.get("user").pointer("name")}
		f.Group = types.NodeGroup{ID: item.get("group").number("id"), Name: item.get("group").pointer("name")}
		f.Mode, f.Contents = item.number("mode"), resourceOf(item.get("contents"))
		if list := item.get("append"); list != nil {
			for _, r := range list.items {
				f.Append = append(f.Append, resourceOf(r))
			}
		}
	}
	return files
}

func resourceOf(n *node) types.Resource {
	r := types.Resource{Source: n.pointer("source"), Compression: n.pointer("compression")}
	r.Verification.Hash = n.get("verification").pointer("hash")
	if list := n.get("httpHeaders"); list != nil {
		for _, h := range list.items {
			r.HTTPHeaders = append(r.HTTPHeaders, types.HTTPHeader{Name: h.text("name"), Value: h.pointer("value")})
		}
	}
	return r
}

// pointer gives the string of a field, or nil.
func (n *node) pointer(name string) *string {
	if v := n.get(name); v != nil && v.kind == textKind {
		return &v.scalar
	}
	return nil
}

// number gives the whole number of a field, or nil.
func (n *node) number(name string) *int {
	if v := n.get(name); v != nil && v.kind == numberKind {
		if i, err := strconv.Atoi(v.scalar); err == nil {
			return &i
		}
	}
	return nil
}

// truth gives the boolean of a field, or nil.
func (n *node) truth(name string) *bool {
	if v := n.get(name); v != nil && v.kind == boolKind {
		is := v.scalar == "true"
		return &is
	}
	return nil
}

// judgeFiles says of the files of a config what the library would.
func judgeFiles(c types.Config, version string) report.Report {
	var all report.Report
	taken, links, units := map[string]bool{}, map[string]bool{}, unitPaths(c)
	for _, d := range c.Storage.Directories {
		taken[d.Path] = true
	}
	for _, l := range c.Storage.Links {
		links[l.Path] = true
	}
	for i, f := range c.Storage.Files {
		at := vpath.New("json", "storage", "files", i)
		if taken[f.Path] && f.Path != "" {
			all.AddOnError(at, errors.ErrDuplicate)
		}
		taken[f.Path] = true
		if below(f.Path, links) {
			all.AddOnError(at, errors.ErrFileUsedSymlink)
		}
		if units[f.Path] {
			all.AddOnError(at.Append("path"), errors.ErrPathConflictsSystemd)
		}
		judgeFile(f, at, version, &all)
	}
	for i, l := range c.Storage.Links {
		if taken[l.Path] && l.Path != "" {
			all.AddOnError(vpath.New("json", "storage", "links", i), errors.ErrDuplicate)
		}
	}
	return all
}

func judgeFile(f types.File, at vpath.ContextPath, version string, all *report.Report) {
	all.Merge(f.Validate(at))
	if f.User.ID != nil || f.Group.ID != nil {
		all.Merge(f.User.Validate(at.Append("user")))
		all.Merge(f.Group.Validate(at.Append("group")))
	}
	judgeResource(f.Contents, at.Append("contents"), version, all)
	for i, r := range f.Append {
		judgeResource(r, at.Append("append", i), version, all)
	}
}

// judgeResource looks at all but the data of a data: URL.
func judgeResource(r types.Resource, at vpath.ContextPath, version string, all *report.Report) {
	if r.Source != nil && strings.HasPrefix(*r.Source, "data:") {
		short := mark
		r.Source = &short
	}
	if (r.Source == nil || *r.Source == mark) && r.Compression == nil && r.HTTPHeaders == nil && r.Verification.Hash == nil {
		return
	}
	all.Merge(r.Validate(at))
	all.Merge(r.Verification.Validate(at.Append("verification")))
	if hash := r.Verification.Hash; version == "3.0.0" && hash != nil && strings.HasPrefix(*hash, "sha256-") {
		all.AddOnError(at.Append("verification", "hash"), errors.ErrHashUnrecognized)
	}
	if len(r.HTTPHeaders) > 0 {
		for _, e := range validate.ValidateWithContext(types.Resource{HTTPHeaders: r.HTTPHeaders}, nil).Entries {
			if len(e.Context.Path) > 1 { // of a header, not of there being any
				e.Context = at.Append(e.Context.Path...)
				all.Entries = append(all.Entries, e)
			}
		}
	}
}

// unitPaths are the files that the units of a config are written to.
func unitPaths(c types.Config) map[string]bool {
	paths := map[string]bool{}
	for _, u := range c.Systemd.Units {
		file := "/etc/systemd/system/" + u.Name
		if text(u.Contents) != "" {
			paths[file] = true
		}
		for _, d := range u.Dropins {
			if text(d.Contents) != "" {
				paths[file+".d/"+d.Name] = true
			}
		}
	}
	return paths
}

// below reports whether a path is inside one of these.
func below(p string, links map[string]bool) bool {
	if len(links) == 0 {
		return false
	}
	for dir := path.Dir(p); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if links[dir] {
			return true
		}
	}
	return false
}

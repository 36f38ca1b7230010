package ignition

import (
	"path"
	"strings"

	"github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/ignition/v2/config/validate"
	vpath "github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"

	"holdfast/engine/config/butane"
	"holdfast/engine/config/syntax"
)

// A document may have thousands of files. The Ignition library reads, validates
// and merges by reflection, which is about fifty times slower, so it gets
// documents without their files. This code calls the library's methods for each
// file, and repeats the library's checks that compare files.

// ParseFiles returns the files of an Ignition config.
func ParseFiles(n *syntax.Node) []types.File {
	if n == nil || n.Kind != syntax.ListKind {
		return nil
	}
	files := make([]types.File, len(n.Items))
	for i, item := range n.Items {
		f := &files[i]
		f.Path, f.Overwrite = item.StringField("path"), item.OptionalBool("overwrite")
		f.User = types.NodeUser{ID: item.Field("user").OptionalInt("id"), Name: item.Field("user").OptionalString("name")}
		f.Group = types.NodeGroup{ID: item.Field("group").OptionalInt("id"), Name: item.Field("group").OptionalString("name")}
		f.Mode, f.Contents = item.OptionalInt("mode"), parseResource(item.Field("contents"))
		if list := item.Field("append"); list != nil {
			for _, r := range list.Items {
				f.Append = append(f.Append, parseResource(r))
			}
		}
	}
	return files
}

func parseResource(n *syntax.Node) types.Resource {
	r := types.Resource{Source: n.OptionalString("source"), Compression: n.OptionalString("compression")}
	r.Verification.Hash = n.Field("verification").OptionalString("hash")
	if list := n.Field("httpHeaders"); list != nil {
		for _, h := range list.Items {
			r.HTTPHeaders = append(r.HTTPHeaders, types.HTTPHeader{Name: h.StringField("name"), Value: h.OptionalString("value")})
		}
	}
	return r
}

// ValidateFiles returns the library's findings for the files of a config, and
// for the modes of its directories.
func ValidateFiles(c types.Config, version string) report.Report {
	var all report.Report
	taken, links, units := map[string]bool{}, map[string]bool{}, unitPaths(c)
	for i, d := range c.Storage.Directories {
		taken[d.Path] = true
		if specialBitsWork(version) && modeFails(d.Mode, true, version) { // the library reports those that do not work
			all.AddOnWarn(vpath.New("json", "storage", "directories", i, "mode"), errors.ErrModeSpecialBits)
		}
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
		if isBelowAny(f.Path, links) {
			all.AddOnError(at, errors.ErrFileUsedSymlink)
		}
		if units[f.Path] {
			all.AddOnError(at.Append("path"), errors.ErrPathConflictsSystemd)
		}
		validateFile(f, at, version, &all)
	}
	for i, l := range c.Storage.Links {
		if taken[l.Path] && l.Path != "" {
			all.AddOnError(vpath.New("json", "storage", "links", i), errors.ErrDuplicate)
		}
	}
	return all
}

func validateFile(f types.File, at vpath.ContextPath, version string, all *report.Report) {
	all.Merge(f.Validate(at))
	if modeFails(f.Mode, false, version) {
		all.AddOnWarn(at.Append("mode"), errors.ErrModeSpecialBits)
	}
	if f.User.ID != nil || f.Group.ID != nil {
		all.Merge(f.User.Validate(at.Append("user")))
		all.Merge(f.Group.Validate(at.Append("group")))
	}
	validateResource(f.Contents, at.Append("contents"), version, all)
	for i, r := range f.Append {
		validateResource(r, at.Append("append", i), version, all)
	}
}

// modeFails reports whether a mode has special bits that Ignition ignores, or
// that come from an octal mode written in decimal, such as 644.
func modeFails(mode *int, directory bool, version string) bool {
	return hasSpecialBits(mode) && (!specialBitsWork(version) || butane.LooksOctal(*mode, directory))
}

// validateResource validates a resource without decoding its data.
func validateResource(r types.Resource, at vpath.ContextPath, version string, all *report.Report) {
	if r.Source != nil && strings.HasPrefix(*r.Source, "data:") {
		short := ContentPrefix
		r.Source = &short
	}
	if (r.Source == nil || *r.Source == ContentPrefix) && r.Compression == nil && r.HTTPHeaders == nil && r.Verification.Hash == nil {
		return
	}
	all.Merge(r.Validate(at))
	all.Merge(r.Verification.Validate(at.Append("verification")))
	if hash := r.Verification.Hash; version == "3.0.0" && hash != nil && strings.HasPrefix(*hash, "sha256-") {
		all.AddOnError(at.Append("verification", "hash"), errors.ErrHashUnrecognized)
	}
	if len(r.HTTPHeaders) > 0 {
		for _, e := range validate.ValidateWithContext(types.Resource{HTTPHeaders: r.HTTPHeaders}, nil).Entries {
			if len(e.Context.Path) > 1 { // ignore findings about the list of headers itself
				e.Context = at.Append(e.Context.Path...)
				all.Entries = append(all.Entries, e)
			}
		}
	}
}

func unitPaths(c types.Config) map[string]bool {
	paths := map[string]bool{}
	for _, u := range c.Systemd.Units {
		file := "/etc/systemd/system/" + u.Name
		if u.Contents != nil && *u.Contents != "" {
			paths[file] = true
		}
		for _, d := range u.Dropins {
			if d.Contents != nil && *d.Contents != "" {
				paths[file+".d/"+d.Name] = true
			}
		}
	}
	return paths
}

func isBelowAny(p string, links map[string]bool) bool {
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

// ContentPrefix precedes the number of a content in a source.
const ContentPrefix = "data:,"

package rules

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

// refusedChanges is the error about changes that only a new installation can make:
// disks, filesystems, FIPS or similar settings differ.
type refusedChanges struct {
	refusals []refusal
}

// refusal is one setting that differs.
type refusal struct {
	Name  string                  // storage.disks /dev/sda
	Verb  engine.Verb             // the change that is not possible
	Place resource.SourcePosition // position in the new configuration; for a deletion, in the old one
}

// Error formats each setting on a line of its own.
func (r *refusedChanges) Error() string {
	lines := make([]string, len(r.refusals))
	for i, f := range r.refusals {
		subject, at := f.Name, f.Place
		if _, about, ok := strings.Cut(f.Name, " "); at.Path != "" {
			subject, at.Path = at.Path, ""
			if ok {
				subject += " (" + about + ")"
			}
		}
		lines[i] = strings.TrimPrefix(at.String()+": ", ": ") + textutil.Printable(subject) + ": " + fixedMessages[f.Verb]
	}
	return strings.Join(lines, "\n")
}

var fixedMessages = map[engine.Verb]string{
	engine.Create: "is new, and cannot be created on a running host; remove it, or reinstall the host",
	engine.Update: "changed since the installation, and cannot be changed on a running host; revert the change, or reinstall the host",
	engine.Delete: "was removed, and cannot be undone on a running host; restore it, or reinstall the host",
}

func refuseFixed(old, new resource.Config) error {
	var r refusedChanges
	name := func(f resource.Fixed) string { return f.Name }
	same := func(a, b resource.Fixed) bool { return a.Digest == b.Digest }
	walkDifferences(old.Fixed, new.Fixed, comparer[resource.Fixed]{name, same}, func(was, is *resource.Fixed) {
		f := refusal{Verb: changeVerb(was, is)}
		if is != nil {
			f.Name, f.Place = is.Name, is.From
		} else {
			f.Name, f.Place = was.Name, was.From
		}
		r.refusals = append(r.refusals, f)
	})
	if len(r.refusals) == 0 {
		return nil
	}
	slices.SortStableFunc(r.refusals, func(a, b refusal) int {
		return cmp.Or(strings.Compare(a.Place.File, b.Place.File), a.Place.Line-b.Place.Line)
	})
	return &r
}

package ignition

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/coreos/ign-converter/translate/v23tov30"
	"github.com/coreos/ign-converter/util"
	"github.com/coreos/ignition/config/v2_3"
	types2 "github.com/coreos/ignition/config/v2_3/types"

	"holdfast/engine/config/syntax"
)

// oldVersions lists the versions of specification 2 that are converted. The
// Machine Config Operator converts all but the last one.
var oldVersions = []string{"2.0.0", "2.1.0", "2.2.0", "2.3.0"}

// ConvertedVersion is the version of converted configs.
const ConvertedVersion = "3.0.0"

// OldShape returns the fields of a version that Convert converts, or nil.
func OldShape(version string) reflect.Type {
	if slices.Contains(oldVersions, version) {
		return reflect.TypeFor[types2.Config]()
	}
	return nil
}

// Converted is a config in ConvertedVersion.
type Converted struct {
	JSON []byte
	// Origins has the former index of each entry of a list, such as
	// storage.files, if entries with the same name were removed.
	Origins map[string][]int
}

// ConversionProblem is the reason why a config cannot be converted.
type ConversionProblem struct {
	Path syntax.FieldPath
	Text string
}

// maxOldText limits a config of specification 2, because its parser needs many
// times the memory of the text.
const maxOldText = 8 << 20

const migrationGuide = "write it as Ignition 3.2.0 (https://coreos.github.io/ignition/migrating-configs/)"

// Convert converts a config of specification 2 with the library and the rules
// of the Machine Config Operator: if a config has several files, units or users
// of one name, the last one wins.
func Convert(text []byte) (Converted, []ConversionProblem) {
	if len(text) > maxOldText {
		return Converted{}, []ConversionProblem{{Text: "has more than 8 MiB, too much for a conversion; " + migrationGuide}}
	}
	var given types2.Config // Parse returns nothing if it finds a mistake
	if err := json.Unmarshal(text, &given); err == nil {
		if problems := findOldFields(given); len(problems) > 0 {
			return Converted{}, problems
		}
	}
	cfg, findings, err := v2_3.Parse(text)
	if err != nil {
		problems := []ConversionProblem{}
		for _, e := range findings.Entries {
			if text, ok := translateMessage(e.Message); ok {
				problems = append(problems, ConversionProblem{Text: "has a mistake and is not converted: an entry " + text})
			}
		}
		if len(problems) == 0 {
			problems = append(problems, ConversionProblem{Text: "is not valid Ignition 2; " + migrationGuide})
		}
		return Converted{}, problems
	}
	origins := removeRepeated(&cfg)
	converted, err := v23tov30.Translate(cfg, map[string]string{"root": "/"})
	if err != nil {
		return Converted{}, []ConversionProblem{{Text: explainConversion(err)}}
	}
	out, err := json.Marshal(converted)
	if err != nil {
		return Converted{}, []ConversionProblem{{Text: "cannot be converted; " + migrationGuide}}
	}
	return Converted{JSON: out, Origins: origins}, nil
}

// explainConversion hides the text of the library, which quotes the document.
func explainConversion(err error) string {
	var inode util.DuplicateInodeError
	var inodeAddress *util.DuplicateInodeError
	var link *util.UsesOwnLinkError
	var unit util.DuplicateDropinError
	switch {
	case errors.As(err, &inode), errors.As(err, &inodeAddress):
		return "has two entries for one path among files, directories and links; keep one"
	case errors.As(err, &link):
		return "has an entry below a path that is a link in this document; write the path the link leads to"
	case errors.As(err, &unit):
		return "has a unit with two drop-ins of one name; keep one"
	}
	return "cannot be converted to Ignition 3; " + migrationGuide
}

// findOldFields reports fields that have no equivalent in specification 3, or
// another one, and appended contents that the conversion would drop.
func findOldFields(cfg types2.Config) []ConversionProblem {
	var list []ConversionProblem
	add := func(text string, path ...any) { list = append(list, ConversionProblem{path, text}) }
	for i := range cfg.Networkd.Units {
		add("is not part of Ignition 3; write the unit as a file in /etc/systemd/network", "networkd", "units", i)
	}
	for i, u := range cfg.Systemd.Units {
		if u.Enable {
			add("is deprecated and not converted; write enabled", "systemd", "units", i, "enable")
		}
	}
	for i, u := range cfg.Passwd.Users {
		if u.Create != nil {
			add("is deprecated and not converted; write its fields into the user itself", "passwd", "users", i, "create")
		}
	}
	onRoot := func(n types2.Node, kind string, i int) {
		if n.Filesystem != "root" {
			add("must be root: only the root file system is converted; name the whole path, with filesystem: root", "storage", kind, i, "filesystem")
		}
	}
	entries := map[string]int{}
	for _, f := range cfg.Storage.Files {
		entries[f.Path]++
	}
	for i, f := range cfg.Storage.Files {
		onRoot(f.Node, "files", i)
		if f.Append && entries[f.Path] > 1 {
			add("is true, and the path has other entries, of which the conversion keeps only the last one; put all of its contents into one entry", "storage", "files", i, "append")
		}
	}
	for i, d := range cfg.Storage.Directories {
		onRoot(d.Node, "directories", i)
	}
	for i, l := range cfg.Storage.Links {
		onRoot(l.Node, "links", i)
	}
	for i, f := range cfg.Storage.Filesystems {
		if f.Name != "root" {
			add("is not converted; "+migrationGuide, "storage", "filesystems", i)
		}
	}
	return list
}

// removeRepeated keeps the last of several files, units and users of one name.
// The drop-ins of a unit and the SSH keys of a user add up.
func removeRepeated(cfg *types2.Config) map[string][]int {
	origins := map[string][]int{}
	cfg.Storage.Files, origins["storage.files"] = keepLast(cfg.Storage.Files, func(f types2.File) string { return f.Path }, func(kept *types2.File, f types2.File) {})
	cfg.Systemd.Units, origins["systemd.units"] = keepLast(cfg.Systemd.Units, func(u types2.Unit) string { return u.Name }, func(kept *types2.Unit, u types2.Unit) {
		for _, d := range u.Dropins {
			if !slices.ContainsFunc(kept.Dropins, func(x types2.SystemdDropin) bool { return x.Name == d.Name }) {
				kept.Dropins = append(kept.Dropins, d)
			}
		}
	})
	cfg.Passwd.Users, origins["passwd.users"] = keepLast(cfg.Passwd.Users, func(u types2.PasswdUser) string { return u.Name }, func(kept *types2.PasswdUser, u types2.PasswdUser) {
		for _, k := range u.SSHAuthorizedKeys {
			if !slices.Contains(kept.SSHAuthorizedKeys, k) {
				kept.SSHAuthorizedKeys = append(kept.SSHAuthorizedKeys, k)
			}
		}
	})
	return origins
}

// keepLast returns the last element of each name with its index. It calls join
// for each earlier element, from the end.
func keepLast[T any](list []T, name func(T) string, join func(kept *T, earlier T)) (kept []T, origins []int) {
	at := map[string]int{}
	for i := len(list) - 1; i >= 0; i-- {
		n := name(list[i])
		if k, seen := at[n]; seen {
			join(&kept[k], list[i])
			continue
		}
		at[n] = len(kept)
		kept, origins = append(kept, list[i]), append(origins, i)
	}
	slices.Reverse(kept)
	slices.Reverse(origins)
	return kept, origins
}

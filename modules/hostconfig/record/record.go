package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// Path is the file with the record of a host: the configuration that was last
// applied, and the configuration of an unfinished write.
const Path = engine.StateDir + "/applied.json"

// MaxSize is the largest size of a record, in bytes.
const MaxSize = 16 << 20

// Initial returns the first record of a host that was provisioned with a
// (compact) configuration. Nobody knows which directories of the configuration
// existed before it. So the record says that all of them did, and holdfast does
// not remove them when they leave the configuration. The installation adds kernel
// arguments because of the configuration, so holdfast removes them.
func Initial(c resource.Config) []byte {
	a := resource.Record{Schema: resource.RecordSchema, Config: c, AddedArgs: c.KernelArgs}
	for _, d := range c.Directories {
		a.Existed = append(a.Existed, d.Path)
	}
	return Encode(a)
}

// Configs returns the configurations that a record contains: the applied one, and
// the one of an unfinished write.
func Configs(a resource.Record) []resource.Config {
	if a.Unfinished == nil {
		return []resource.Config{a.Config}
	}
	return []resource.Config{a.Config, a.Unfinished.Config}
}

// Encode encodes a record as JSON: each line has one member, or one element of a
// list. The list of resources comes first, so that probe.sh can read it without a
// JSON parser.
func Encode(a resource.Record) []byte {
	var b bytes.Buffer
	b.WriteString("{\n\"about\":[\n")
	for i, line := range Subjects(Configs(a)...) {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(plainString(line))
	}
	b.WriteString("\n],\n")
	var rest bytes.Buffer
	e := json.NewEncoder(&rest)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	_ = e.Encode(a) // a record always marshals
	b.Write(bytes.TrimPrefix(rest.Bytes(), []byte("{\n")))
	return b.Bytes()
}

// plainString returns a string as JSON. It escapes only quotes and backslashes, so
// that probe.sh can undo it. Strings of a configuration have neither
// control characters nor invalid UTF-8. encoding/json encodes a string that does.
func plainString(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\uFFFD' }) {
		text, _ := json.Marshal(s) // a string always marshals
		return string(text)
	}
	return `"` + escapeString.Replace(s) + `"`
}

var escapeString = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// Decode parses the file at Path of a host. Its error continues a sentence that
// begins with the path.
func Decode(text string) (*resource.Record, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("has more than %d MiB; %s", MaxSize>>20, RepairHint)
	}
	var a resource.Record
	err := json.Unmarshal([]byte(text), &a)
	if a.Schema == 0 && err == nil {
		err = errors.New("it has no schema")
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax), err != nil && a.Schema <= resource.RecordSchema:
		return nil, fmt.Errorf("is not a record (%w); %s", err, RepairHint)
	case a.Schema != resource.RecordSchema:
		return nil, fmt.Errorf("is of schema %d, and this version of holdfast knows %d; use the version that wrote it, or a later one", a.Schema, resource.RecordSchema)
	}
	var file struct {
		About json.RawMessage `json:"about"` // for probe.sh
		resource.Record
	}
	if problem := hostscript.FindUnknownField(text, &file); problem != "" {
		return nil, errors.New(problem)
	}
	for _, c := range Configs(a) {
		for _, p := range Paths(c) {
			if !path.IsAbs(p) || path.Clean(p) != p {
				return nil, fmt.Errorf("names %q, which is not an absolute path in its shortest form; %s", p, RepairHint)
			}
		}
	}
	normalizeKernelArgs(&a)
	return &a, nil
}

// normalizeKernelArgs gives the kernel arguments of a record the spelling that those of documents and hosts have. An earlier
// version may have written another one.
func normalizeKernelArgs(a *resource.Record) {
	lists := [][]string{a.Config.KernelArgs, a.Config.NoKernelArgs, a.AddedArgs}
	if a.Unfinished != nil {
		lists = append(lists, a.Unfinished.Config.KernelArgs, a.Unfinished.Config.NoKernelArgs)
	}
	for _, list := range lists {
		for i, arg := range list {
			list[i] = resource.NormalizeKernelArg(arg)
		}
	}
}

// RepairHint tells the operator how to handle a record that cannot be used.
const RepairHint = "put back a copy of this file, or remove the file: without it, holdfast takes the files that are there for the host's own"

// Subjects returns the lines that tell probe.sh which resources to probe. The file
// of a record begins with them. Lines of the kind inherit name the files to which a
// configuration appends text: probe.sh reads these files and their originals.
func Subjects(configs ...resource.Config) []string {
	var inherit []string
	for _, c := range configs {
		for _, f := range c.Files {
			if f.Inherit {
				inherit = append(inherit, "inherit "+f.Path+"//"+OriginalName(f.Path))
			}
		}
	}
	slices.Sort(inherit)
	return append(subjectLines(configs...), slices.Compact(inherit)...)
}

// subjectLines returns the resources of configurations as sorted lines. Each line
// has a kind, a space, and a name. The kinds are path, unit, user (an account
// that a configuration manages), owner (an account to which a path belongs) and
// group (of a path or an account, or one that a configuration manages). Accounts
// and groups that are given by their IDs have no line.
func subjectLines(configs ...resource.Config) []string {
	var list []string
	name := func(kind, name string) {
		if name != "" && strings.Trim(name, "0123456789") != "" { // a name of digits is an ID
			list = append(list, kind+" "+name)
		}
	}
	owner := func(o resource.Owner) {
		name("owner", o.User)
		name("group", o.Group)
	}
	for _, c := range configs {
		for _, p := range Paths(c) {
			list = append(list, "path "+p)
		}
		for _, f := range c.Files {
			owner(f.Owner)
		}
		for _, d := range c.Directories {
			owner(d.Owner)
		}
		for _, l := range c.Links {
			owner(l.Owner)
		}
		for _, u := range c.Units {
			name("unit", u.Name)
		}
		for _, u := range c.Users {
			name("user", u.Name)
			name("group", u.Account.PrimaryGroup)
			for _, g := range u.Account.Groups {
				name("group", g)
			}
		}
		for _, g := range c.Groups {
			name("group", g.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Paths returns the sorted paths that a configuration sets, including those of
// units and drop-ins, and the targets of hard links.
func Paths(c resource.Config) []string {
	list := c.OwnPaths()
	for _, l := range c.Links {
		if l.Hard {
			list = append(list, l.Target)
		}
	}
	for _, u := range c.Units {
		list = append(list, hostscript.UnitDir+"/"+u.Name)
		for _, d := range u.Dropins {
			list = append(list, hostscript.UnitDir+"/"+u.Name+".d/"+d.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// OriginalsDir is the directory on a host in which holdfast keeps the originals:
// the files that were there before a configuration replaced them.
const OriginalsDir = engine.StateDir + "/originals"

// OriginalName returns the name of the original of a path in OriginalsDir. If the
// original is the default of the OS, in /usr/etc, OriginalsDir has an empty file
// with this name and DefaultMark instead. So no name of an original ends with
// DefaultMark.
func OriginalName(p string) string {
	name := escapePath.Replace(path.Clean(p))
	if len(name) > 200 || strings.HasSuffix(name, DefaultMark) {
		return resource.Digest([]byte(p))
	}
	return name
}

var escapePath = strings.NewReplacer("%", "%25", "/", "%2F")

// DefaultMark is the end of the names of these empty files. See OriginalName.
const DefaultMark = ".default"

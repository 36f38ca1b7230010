package hostconfig

import (
	"bytes"
	_ "embed" // the script
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/modules/shell"
)

//go:embed sh/probe.sh
var configProbeScript string

const (
	configProbeName = "configuration"                // of the command
	originalsDir    = engine.StateDir + "/originals" // files from before holdfast
	maxApplied      = 16 << 20                       // bytes of a record
	maxContents     = 1 << 20                        // bytes of a file whose contents are read
)

// configProbe returns the command that probes every resource of the desired
// configuration and of the record on the host; none if no configuration is
// desired.
func configProbe(d engine.Desired) []engine.Command {
	if d.Config == nil {
		return nil
	}
	look := shell.Script{Text: groundScript + configProbeScript, Vars: map[string]string{
		"root":      "",
		"record":    engine.RecordPath,
		"originals": originalsDir,
		"wanted":    strings.Join(probeSubjects(*d.Config), "\n"),
		"maxrecord": strconv.Itoa(maxApplied + 1),
		"limit":     strconv.Itoa(maxContents + 1),
	}}
	return []engine.Command{{Name: configProbeName, Script: look.String()}}
}

// probeSubjects returns the lines that tell the script which resources to
// probe, and which files to read because text is appended to them.
func probeSubjects(c engine.Config) []string {
	return append(subjectLines(c), inheritLines(c)...)
}

func inheritLines(configs ...engine.Config) []string {
	var list []string
	for _, c := range configs {
		for _, f := range c.Files {
			if f.Inherit {
				list = append(list, "inherit "+f.Path+"//"+originalName(f.Path))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func recordedConfigs(a engine.Record) []engine.Config {
	if a.Unfinished == nil {
		return []engine.Config{a.Config}
	}
	return []engine.Config{a.Config, a.Unfinished.Config}
}

func recordedNames(a engine.Record) []string {
	configs := recordedConfigs(a)
	list := subjectLines(configs...)
	if a.Schema >= 2 {
		list = append(list, inheritLines(configs...)...)
	}
	return list
}

// subjectLines returns sorted lines: path, unit, user, owner (an account that
// is only referred to) or group, a space, and the name.
func subjectLines(configs ...engine.Config) []string {
	var list []string
	name := func(kind, name string) {
		if name != "" && strings.Trim(name, "0123456789") != "" { // else it is an ID
			list = append(list, kind+" "+name)
		}
	}
	owner := func(o engine.Owner) {
		name("owner", o.User)
		name("group", o.Group)
	}
	for _, c := range configs {
		for _, p := range nodePaths(c) {
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

func nodePaths(c engine.Config) []string {
	var list []string
	for _, f := range c.Files {
		list = append(list, f.Path)
	}
	for _, d := range c.Directories {
		list = append(list, d.Path)
	}
	for _, l := range c.Links {
		if list = append(list, l.Path); l.Hard {
			list = append(list, l.Target)
		}
	}
	for _, u := range c.Units {
		list = append(list, unitDir+u.Name)
		for _, d := range u.Dropins {
			list = append(list, unitDir+u.Name+".d/"+d.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// originalName returns the file name of the original of a path, in the
// directory of originals. A file NAME.default beside it means that the path had
// the default of the OS from /usr/etc. No original has such a name.
func originalName(p string) string {
	name := escapePath.Replace(path.Clean(p))
	if len(name) > 200 || strings.HasSuffix(name, defaultMark) {
		return engine.Digest([]byte(p))
	}
	return name
}

var escapePath = strings.NewReplacer("%", "%25", "/", "%2F")

// defaultMark ends the name of a file that marks the default of the OS as the
// original.
const defaultMark = ".default"

// encodeApplied encodes a record as JSON, one member a line. In front is a list
// of its resources, which probe.sh reads without a parser.
func encodeApplied(a engine.Record) []byte {
	var b bytes.Buffer
	b.WriteString("{\n\"about\":[\n")
	for i, line := range recordedNames(a) {
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
	_ = e.Encode(a) // strings, numbers and lists always marshal
	b.Write(bytes.TrimPrefix(rest.Bytes(), []byte("{\n")))
	return b.Bytes()
}

// plainString encodes a string of JSON. It escapes only quotes and backslashes,
// unless the string has characters that no configuration has.
func plainString(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\uFFFD' }) {
		text, _ := json.Marshal(s) // a string always marshals
		return string(text)
	}
	return `"` + escapeString.Replace(s) + `"`
}

var escapeString = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"holdfast/engine"
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

// RecordedSubjects returns the list of resources with which the file of a record
// begins.
func RecordedSubjects(a resource.Record) []string {
	configs := Configs(a)
	return append(subjectLines(configs...), inheritLines(configs...)...)
}

// Encode encodes a record as JSON: each line has one member, or one element of a
// list. The list of resources comes first, so that probe.sh can read it without a
// JSON parser.
func Encode(a resource.Record) []byte {
	var b bytes.Buffer
	b.WriteString("{\n\"about\":[\n")
	for i, line := range RecordedSubjects(a) {
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
		return nil, fmt.Errorf("is of schema %d, and this holdfast knows %d; use the version that wrote it, or a later one", a.Schema, resource.RecordSchema)
	}
	for _, p := range append(Paths(a.Config), unfinishedPaths(a)...) {
		if !path.IsAbs(p) || path.Clean(p) != p {
			return nil, fmt.Errorf("names %q, which is not an absolute path in its shortest form; %s", p, RepairHint)
		}
	}
	return &a, nil
}

// RepairHint tells the operator how to handle a record that cannot be used.
const RepairHint = "put back a copy of this file, or remove the file: without it, holdfast takes the files that are there for the host's own"

func unfinishedPaths(a resource.Record) []string {
	if a.Unfinished == nil {
		return nil
	}
	return Paths(a.Unfinished.Config)
}

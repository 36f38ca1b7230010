package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/content/mirror"
	"holdfast/engine/docstest"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report/tables"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

var updateDocs = flag.Bool("update-docs", false, "write the generated part of docs/json.md")

// printed lists the types that each command prints with --json.
var printed = []struct {
	command, how string
	value        any
}{
	{"holdfast plan", "with a playbook a list of these, one for each play", engine.Plan{}},
	{"holdfast apply", "one event per line, and so in the journals", event.Event{}},
	{"holdfast status", "", engine.Status{}},
	{"holdfast etcd status", "a list of these; with `--watch` one list per line", engine.ClusterStatus{}},
	{"holdfast etcd snapshot", "", etcd.SnapshotInfo{}},
	{"holdfast etcd endpoints", "", etcd.Endpoints{}},
	{"holdfast etcd members plan", "", membership.Forecast{}},
	{"holdfast etcd members apply", "one event per line, and so in the journals", event.Event{}},
	{"holdfast etcd restore --dry-run", "", restore.Preview{}},
	{"holdfast etcd restore", "one event per line, and so in the journals", event.Event{}},
	{"holdfast holds", "a list of these", tables.HeldHost{}},
	{"holdfast hold", "a list of these", hostResult{}},
	{"holdfast release", "a list of these", hostResult{}},
	{"holdfast power status", "a list of these", tables.HostPower{}},
	{"holdfast power on", "and `off` and `reset`: a list of these", hostResult{}},
	{"holdfast mirror", "a list of these", mirror.ContentStatus{}},
	{"holdfast runs", "a list of these, the newest first", journal.Run{}},
	{"holdfast runs prune", "a list of these", prunedRun{}},
	{"holdfast validate", "", engine.Inventory{}},
	{"holdfast diff", "", rules.Diff{}},
	{"holdfast version", "", build{}},
}

// TestJSONReference checks that docs/json.md describes every printed field and no
// other field. The reference is generated from the types.
func TestJSONReference(t *testing.T) {
	docstest.Page{Path: "../../docs/json.md", Arguments: "./cmd/holdfast -update-docs", Update: *updateDocs}.CheckGenerated(t, newReference(t).writeText())
}

// reference writes the reference of the JSON output.
type reference struct {
	t     *testing.T
	out   strings.Builder
	said  source
	done  map[reflect.Type]bool
	words []reflect.Type                 // types whose values are all listed
	used  map[string]bool                // keys of meanings and everywhere
	names map[string]map[string][]string // links to the types that have a field, by its name and its form
}

func newReference(t *testing.T) *reference {
	return &reference{t: t, said: readSource(t), done: map[reflect.Type]bool{}, used: map[string]bool{}, names: map[string]map[string][]string{}}
}

func (r *reference) writeText() string {
	r.out.WriteString("| command | prints |\n|---|---|\n")
	for _, p := range printed {
		fmt.Fprintf(&r.out, "| `%s --json` | %s |\n", p.command, strings.TrimRight(typeLink(reflect.TypeOf(p.value))+", "+p.how, ", "))
	}
	r.out.WriteString("\n")
	for _, p := range printed {
		r.describeType(reflect.TypeOf(p.value))
	}
	for _, typ := range r.words {
		r.valuesOf(typ)
	}
	r.writeIndex()
	r.unusedMeanings()
	return r.out.String()
}

// severalForms lists the names whose values have several forms: a list of things and their number or their limits, a
// thing and its name, or a fact and the setting about it. Another such name is a mistake: name it after its form, such as
// failed_units or paused_for.
var severalForms = strings.Fields(`accept_units after batch before ca command cordoned count days drift failed healthy hosts kubernetes latency leader
	maintenance node os pause pods power problem quorum reboot snapshots source stage staging start status steps time undo
	updated`)

// writeIndex lists the names of all fields, with the types that have them. If a name has several forms, each follows its types.
func (r *reference) writeIndex() {
	r.out.WriteString("## Index of all names\n\n| name | field of |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		forms := r.names[name]
		var parts []string
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			types := strings.Join(slices.Sorted(slices.Values(forms[form])), ", ")
			if len(forms) > 1 {
				types += " (" + form + ")"
			}
			parts = append(parts, types)
		}
		fmt.Fprintf(&r.out, "| `%s` | %s |\n", name, strings.Join(parts, "; "))
		if len(forms) > 1 != slices.Contains(severalForms, name) {
			r.t.Errorf("%s has the forms %q; severalForms must have the names with several", name, slices.Sorted(maps.Keys(forms)))
		}
	}
	for _, name := range severalForms {
		if r.names[name] == nil {
			r.t.Errorf("severalForms has %s, and no type has it", name)
		}
	}
	r.out.WriteString("\n")
}

// unusedMeanings finds meanings without a field, type or value.
func (r *reference) unusedMeanings() {
	for _, table := range []map[string]string{meanings, everywhere} {
		for key := range table {
			if !r.used[key] {
				r.t.Errorf("json_meanings_test.go says what %s means, but there is no such field or value without a comment", key)
			}
		}
	}
}

// upload is the JSON form of an engine.Upload, without its data, which may be
// secret.
type upload struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// TestUploadsPrintNoData checks that upload is the JSON form of an engine.Upload.
func TestUploadsPrintNoData(t *testing.T) {
	got, err := json.Marshal(engine.Upload{Name: "1", Data: []byte("hunter2")})
	want, _ := json.Marshal(upload{"1", 7})
	if err != nil || string(got) != string(want) {
		t.Errorf("printed %s, want %s: %v", got, want, err)
	}
}

// plan is the JSON form of an engine.Plan. It has the steps of all hosts once, and
// lists of steps have their names.
type plan struct {
	engine.Plan
	Steps map[string]engine.Step `json:"steps,omitempty"`
	Texts engine.ScriptTexts     `json:"texts,omitempty"`
}

// TestPlansPrintStepsByName checks that plan is the JSON form of an engine.Plan.
func TestPlansPrintStepsByName(t *testing.T) {
	step := []engine.Step{{Name: "s", On: "a", Do: engine.Op{Exec: &engine.Exec{Script: engine.Script{{Text: engine.ShareText("true")}}}}}}
	text, err := json.Marshal(engine.Plan{
		Start: step, Before: step, Hosts: []engine.HostPlan{{Host: "b", Stage: step, Sequence: step, Rollback: step}}, Batches: []engine.Batch{{Before: step, After: step}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, list := range []struct {
		of     any
		fields []string
	}{{all, []string{"start", "before"}}, {all["hosts"].([]any)[0], []string{"stage", "sequence", "rollback"}}, {all["batches"].([]any)[0], []string{"before", "after"}}} {
		for _, field := range list.fields {
			if got := list.of.(map[string]any)[field]; !reflect.DeepEqual(got, []any{"s"}) {
				t.Errorf("%s is %v", field, got)
			}
		}
	}
	if all["steps"].(map[string]any)["s"] == nil || len(all["texts"].(map[string]any)) != 1 {
		t.Errorf("the plan has no steps or texts: %s", text)
	}
}

// shownAs returns the type whose fields the JSON form of a type has.
func shownAs(typ reflect.Type) reflect.Type {
	switch typ {
	case reflect.TypeFor[engine.Upload]():
		return reflect.TypeFor[upload]()
	case reflect.TypeFor[engine.Plan]():
		return reflect.TypeFor[plan]()
	}
	return typ
}

// describeType writes the fields of a type. Then it describes the types of these
// fields.
func (r *reference) describeType(typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		if typ.Kind() == reflect.Map {
			r.describeType(typ.Key())
		}
		typ = typ.Elem()
	}
	typ = shownAs(typ)
	if r.done[typ] || specialForm(typ) != "" || typ.PkgPath() == "" {
		return
	}
	r.done[typ] = true
	if typ.Kind() != reflect.Struct {
		r.words = append(r.words, typ)
		return
	}
	fmt.Fprintf(&r.out, "## %s\n\n%s\n\n", typeTitle(typ), r.meaningOf(typeTitle(typ), "", r.said.commentOf(typ, "")))
	fields := fieldsOf(typ)
	if len(fields) > 0 {
		r.out.WriteString("| field | type | meaning |\n|---|---|---|\n")
	}
	for _, f := range fields {
		r.describeField(f)
		if r.names[f.name] == nil {
			r.names[f.name] = map[string][]string{}
		}
		form := formOf(f.Type)
		r.names[f.name][form] = append(r.names[f.name][form], typeLink(typ))
	}
	if len(fields) > 0 {
		r.out.WriteString("\n")
	}
	for _, f := range fields {
		r.describeType(f.Type)
	}
}

// member is a JSON field of a type.
type member struct {
	reflect.StructField
	owner   reflect.Type
	name    string
	missing bool // omitted if empty
}

// fieldsOf returns the JSON fields of a type, including the fields of embedded
// structs.
func fieldsOf(typ reflect.Type) []member {
	var fields []member
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, fieldsOf(f.Type)...)
		case name != "-" && f.IsExported():
			fields = append(fields, member{f, typ, name, strings.Contains(options, "omit")})
		}
	}
	return fields
}

func (r *reference) describeField(f member) {
	if f.name == "" {
		r.t.Errorf("%s.%s has no name in JSON", f.owner, f.Name)
	}
	meaning := r.meaningOf(typeTitle(f.owner)+"."+f.name, f.name, forReaders(f, r.said.commentOf(f.owner, f.Name)))
	if f.missing {
		meaning += " *(may be missing)*"
	}
	fmt.Fprintf(&r.out, "| `%s` | %s | %s |\n", f.name, kindOf(f.Type), strings.ReplaceAll(meaning, "|", `\|`))
}

// emptyValue matches the empty value of a field before its meaning, in a comment.
var emptyValue = regexp.MustCompile(`(^|; )(?:nil|none|""|0|zero|null): `)

// forReaders returns the comment of a field in the words of JSON: other fields of
// its type have their names in JSON, and a field that is empty is missing.
func forReaders(f member, comment string) string {
	for i := range f.owner.NumField() {
		other := f.owner.Field(i)
		if name, _, _ := strings.Cut(other.Tag.Get("json"), ","); name != "" && name != "-" && strings.ToUpper(other.Name) != other.Name && other.Name != "Kubernetes" { // OS, CA and Kubernetes are words, too
			comment = regexp.MustCompile(`\b`+other.Name+`\b`).ReplaceAllString(comment, "`"+name+"`")
		}
	}
	if f.missing {
		comment = emptyValue.ReplaceAllString(comment, "${1}missing: ")
	}
	return strings.TrimSuffix(comment, ".")
}

// meaningOf returns the meaning of a field or value from the tables above, or
// else from the code.
func (r *reference) meaningOf(key, name, comment string) string {
	if s := meanings[key]; s != "" {
		r.used[key] = true
		return s
	}
	if comment != "" {
		return comment
	}
	if s := everywhere[name]; s != "" {
		r.used[name] = true
		return s
	}
	r.t.Errorf("%s has no meaning: say it in a comment, or in json_meanings_test.go", key)
	return ""
}

// valuesOf lists the values of a text type.
func (r *reference) valuesOf(typ reflect.Type) {
	values := r.said.values[typ.PkgPath()+"."+typ.Name()]
	if len(values) == 0 && typ.Kind() == reflect.String {
		r.t.Errorf("%s has no values", typ)
	}
	fmt.Fprintf(&r.out, "## %s\n\n%s\n\n| value | meaning |\n|---|---|\n", typeTitle(typ), r.meaningOf(typeTitle(typ), "", r.said.commentOf(typ, "")))
	for _, v := range values {
		text := "`" + v.text + "`"
		if v.text == "" {
			text = "*missing*"
		}
		fmt.Fprintf(&r.out, "| %s | %s |\n", text, r.meaningOf(typeTitle(typ)+" "+v.text, "", v.comment))
	}
	r.out.WriteString("\n")
}

// specialForm returns the JSON form of types that are neither objects nor words.
func specialForm(typ reflect.Type) string {
	switch typ {
	case reflect.TypeFor[time.Time]():
		return "time"
	case reflect.TypeFor[engine.Duration]():
		return "duration"
	case reflect.TypeFor[resource.BootID]():
		return "boot ID"
	case reflect.TypeFor[engine.SharedText](), reflect.TypeFor[engine.TextDigest](), reflect.TypeFor[engine.ScriptText]():
		return "string"
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[time.Weekday]():
		return "number"
	}
	return ""
}

// kindOf returns the kind of a field in the words of JSON.
func kindOf(typ reflect.Type) string {
	typ = shownAs(typ)
	if s := specialForm(typ); s != "" {
		return s
	}
	if typ == reflect.TypeFor[[]engine.Step]() {
		return "list of names of [steps](#step)"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return kindOf(typ.Elem())
	case reflect.Slice:
		return "list of " + kindOf(typ.Elem())
	case reflect.Map:
		return "object: " + kindOf(typ.Key()) + " to " + kindOf(typ.Elem())
	}
	switch {
	case typ.PkgPath() != "":
		return typeLink(typ)
	case typ.Kind() == reflect.Bool, typ.Kind() == reflect.String:
		return typ.Kind().String()
	}
	return "number"
}

// formOf returns the form of the values of a field: text, a number, a list, an object, and so on.
func formOf(typ reflect.Type) string {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "object"
	case reflect.Struct:
		if specialForm(typ) == "" {
			return "object"
		}
	}
	switch kind := kindOf(typ); kind {
	case "number", "bool", "duration", "time":
		return kind
	}
	if typ.Kind() == reflect.Int {
		return "number"
	}
	return "string"
}

// typeTitle returns the heading of a type. It distinguishes types of packages
// rules, restore and membership from types of the same name in other packages.
func typeTitle(typ reflect.Type) string {
	if typ == reflect.TypeFor[event.Type]() {
		return "EventType"
	}
	if strings.HasSuffix(typ.PkgPath(), "/rules") && !strings.HasPrefix(typ.Name(), "Diff") {
		return "Diff" + typ.Name()
	}
	if strings.HasSuffix(typ.PkgPath(), "/restore") && !strings.HasPrefix(typ.Name(), "Preview") {
		return "Restore" + typ.Name()
	}
	if strings.HasSuffix(typ.PkgPath(), "/membership") && (typ.Name() == "Forecast" || strings.HasPrefix(typ.Name(), "Refusal")) {
		return "Members" + typ.Name()
	}
	return strings.ToUpper(typ.Name()[:1]) + typ.Name()[1:]
}

func typeLink(typ reflect.Type) string {
	return fmt.Sprintf("[%s](#%s)", typeTitle(typ), strings.ToLower(typeTitle(typ)))
}

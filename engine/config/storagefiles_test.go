package config

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	library "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/v3_6"

	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
)

// FuzzFiles compares the findings for files with the findings of the Ignition
// library.
func FuzzFiles(f *testing.F) {
	addSeeds(f, ".ign")
	const doc = `{"ignition":{"version":"%s"},"storage":{"files":[%s],"links":[{"path":"/l","target":"/x"},{"path":"/d/e","target":"x"}],"directories":[{"path":"/d"}]},` +
		`"systemd":{"units":[{"name":"a.service","contents":"[Unit]","dropins":[{"name":"b.conf","contents":"[Unit]"}]}]}}`
	for _, version := range []string{"3.0.0", "3.1.0", "3.4.0", "3.5.0", "3.6.0"} {
		for _, file := range []string{
			`{"path":"/a"},{"path":"/a"}`, `{"path":"/l/a"}`, `{"path":"/l"}`, `{"path":"/d"}`, `{"path":"/d/e/f"}`, `{"path":"/etc/systemd/system/a.service"}`, `{"path":"/etc/systemd/system/a.service.d/b.conf"}`,
			`{"path":"/a","mode":4096}`, `{"path":"/a","mode":2541}`, `{"path":"/a","mode":-1}`, `{"path":"/a","overwrite":true}`, `{"path":"a"}`, `{"path":"/a/"}`, `{}`,
			`{"path":"/a","user":{"id":1,"name":"x"},"group":{"id":1,"name":"x"}}`, `{"path":"/a","user":{"id":1,"name":""}}`,
			`{"path":"/a","contents":{"source":"data:,x","compression":"xz"}}`, `{"path":"/a","contents":{"verification":{"hash":"sha512-1"}}}`,
			`{"path":"/a","contents":{"source":"data:,x","verification":{"hash":"x"}}}`, `{"path":"/a","contents":{"source":"http://x","verification":{"hash":"sha256-01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b"}}}`,
			`{"path":"/a","contents":{"source":"gopher://x"},"append":[{"source":"data:,x"},{"source":"x"}]}`,
			`{"path":"/a","contents":{"source":"http://x","httpHeaders":[{"name":"a","value":"b"},{"name":"a","value":"c"},{"name":"","value":"c"},{"name":"x","value":""}]}}`,
			`{"path":"/a","contents":{"source":"data:,x","httpHeaders":[{"name":"a","value":"b"}]}}`,
		} {
			f.Add(fmt.Sprintf(doc, version, file))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var ignored syntax.Problems
		n := syntax.ReadJSON("x.json", text, &ignored)
		shaped := syntax.ShapeChecker{Report: &ignored}
		version := n.Field("ignition").StringField("version")
		if n == nil || len(ignored.Errors) > 0 || ignition.Shape(version) == nil {
			t.Skip()
		}
		if shaped.CheckValue(n, ignition.Shape(version), nil); len(ignored.Errors) > 0 {
			t.Skip()
		}
		_, whole, _ := v3_6.ParseCompatibleVersion([]byte(text))
		d := &document{source: n, report: &syntax.Problems{}}
		if !d.readIgnition(n) {
			t.Skip()
		}
		want, got := map[string]bool{}, map[string]bool{}
		for _, e := range whole.Entries {
			if e.Kind.IsFatal() || e.Message == library.ErrModeSpecialBits.Error() {
				text := ignition.ExplainMessage(e.Message).Text
				if e.Message == library.ErrModeSpecialBits.Error() || e.Message == library.ErrFileIllegalMode.Error() {
					text = cmp.Or(d.octalAdvice(pathOf(e.Context)), text)
				}
				want[pathOf(e.Context).String()+": "+text] = true
			}
		}
		for _, e := range d.report.Errors {
			got[e.Place.Path+": "+e.Text] = true
		}
		// The library does not look for octal modes in decimal any more.
		maps.DeleteFunc(got, func(s string, _ bool) bool { return version == "3.6.0" && strings.Contains(s, ".mode: ") && !want[s] })
		for _, said := range []map[string]bool{want, got} {
			maps.DeleteFunc(said, func(s string, _ bool) bool {
				return strings.Contains(s, ".source: ") || strings.HasPrefix(s, "ignition.config")
			}) // decodeContents checks sources
		}
		for w := range want {
			if !got[w] {
				t.Errorf("does not say %s; says %v", w, got)
			}
		}
		for g := range got {
			if !want[g] {
				t.Errorf("says %s; the library says %v", g, want)
			}
		}
	})
}
